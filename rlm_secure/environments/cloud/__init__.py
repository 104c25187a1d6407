"""The cloud environments: what Modal, Daytona, Prime and E2B share, and one file for each of them."""
