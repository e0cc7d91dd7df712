"""XML metadata of microscopes' files, which may be damaged."""


def parse_count(text):
    """Return the whole number in a text, or 0 for a negative number or another text."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0


def parse_xml(text):
    """Return the root element of XML metadata; an empty element if they are missing or damaged."""
    from xml.etree import ElementTree

    try:
        return ElementTree.fromstring(text or "<x/>")
    except ElementTree.ParseError:
        return ElementTree.Element("x")
