"""The cloud environments: what Modal, Daytona, Prime, E2B and Kubernetes share, and one file for each of them."""
