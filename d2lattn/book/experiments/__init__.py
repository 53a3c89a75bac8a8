"""What single chapters experiment with: small tasks with known answers, and stored looks."""
