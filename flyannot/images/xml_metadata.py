"""XML metadata of microscopes' files, which may be damaged."""


def parse_count(text):
    """Return the whole number in a text of XML metadata; 0 if it is negative or not a whole number."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0


def parse_xml(text):
    """Parse XML metadata and return the root element; an empty element if the text is empty or damaged."""
    from xml.etree import ElementTree

    try:
        return ElementTree.fromstring(text or "<x/>")
    except ElementTree.ParseError:
        return ElementTree.Element("x")
