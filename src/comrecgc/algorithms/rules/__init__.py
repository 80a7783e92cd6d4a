"""Rule recourse: mining, composition, choice and counting of rules."""
