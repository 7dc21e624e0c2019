"""Every figure of the views: title, unit, width and format."""
