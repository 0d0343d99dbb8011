"""From a user's certificate to a proof with every hint written down, for the kernel that only checks. Not trusted."""
