"""What runs after training: promotion, serving, decisions."""
