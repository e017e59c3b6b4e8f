"""What the pages share: state and links, the shell, panels and exports."""
