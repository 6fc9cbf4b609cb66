"""Two or more configs on the cases they share: differences, ranks, single cases."""
