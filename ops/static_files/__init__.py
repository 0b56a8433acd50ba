"""Scripts, style sheets and pictures under names that carry what is in them."""
