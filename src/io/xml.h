// xml.h: expat behind one file: text to a tree of elements that know file, line and column.
//
// Bounded in depth, elements and attributes. Any DOCTYPE is refused as it starts, so no entity is ever declared.
// Building and freeing never recurse.
#ifndef TG_IO_XML_H
#define TG_IO_XML_H

#include "base/nearest.h"
#include "tangere/desc.h"

/// Attribute. source is that of the attribute's name in the file.
typedef struct tgXmlAttr {
  const char *name, *value;
  tgSource source;
  struct tgXmlAttr *next;
} tgXmlAttr;

/// Element. Children in document order.
typedef struct tgXmlNode {
  const char *name;
  tgXmlAttr *attr;
  struct tgXmlNode *parent, *child, *last, *next;
  const char *text;                ///< first run of character data that is more than white space, NULL else
  tgSource source;
  int depth;                       ///< root is 1
  int kind;                        ///< free for the loader
} tgXmlNode;

/// A parsed document. One allocation pool, shared by documents merged through include.
typedef struct tgXml {
  tgXmlNode *root;
  tgDesc *desc;                    ///< whose file list tgSource.file indexes
  int nelement, max_element, max_depth;
  size_t nattr;                    ///< attributes so far; at most 8 for each allowed element
  struct tgXmlBlock *block;        ///< private
  tgAllocator alloc;
} tgXml;

/// An empty document whose messages name files through desc->file. Limits from options (NULL: the defaults).
void tgi_xml_init(tgXml *xml, tgDesc *desc, const tgLoadOptions *options);
void tgi_xml_free(tgXml *xml);
/// Parses size bytes called `name` and gives the root element, which is not yet linked to anything; depth counts from
/// `depth` + 1. TG_ERR_PARSE with line and column; TG_ERR_LIMIT over a budget; TG_ERR_MEMORY.
tgStatus tgi_xml_parse(tgXml *xml, const char *name, const char *data, size_t size, int depth, tgXmlNode **root,
                       tgError *error);
/// The attribute of that name, and its value; NULL when absent.
const tgXmlAttr *tgi_xml_attr(const tgXmlNode *node, const char *name);
const char *tgi_xml_get(const tgXmlNode *node, const char *name);
/// First child of that name (any when NULL), and the next sibling of that name.
tgXmlNode *tgi_xml_child(const tgXmlNode *node, const char *name);
tgXmlNode *tgi_xml_next(const tgXmlNode *node, const char *name);
/// The element that follows node in document order within the subtree of root; NULL after the last.
tgXmlNode *tgi_xml_walk(const tgXmlNode *root, const tgXmlNode *node);
/// A string in the document's pool. NULL: no memory.
char *tgi_xml_string(tgXml *xml, const char *text, size_t length);
/// Uninitialised bytes in the document's pool. NULL: no memory.
void *tgi_xml_bytes(tgXml *xml, size_t bytes);
/// A fresh element in the document's pool, unlinked. NULL: no memory or over the element budget.
tgXmlNode *tgi_xml_new(tgXml *xml, const char *name, tgSource source);
/// Appends child to parent.
void tgi_xml_append(tgXmlNode *parent, tgXmlNode *child);

/// Fills error with status, file, line, column and element (name="..." when it has one), the text "element NAME: ...".
tgStatus tgi_xml_error(const tgXml *xml, const tgXmlNode *node, tgError *error, tgStatus status, const char *format, ...)
    TG_PRINTF(5, 6);
/// TG_ERR_MEMORY at the element, or, when it is NULL, with the document's name.
tgStatus tgi_xml_memory(const tgXml *xml, const tgXmlNode *at, tgError *error);
/// The same at an attribute's place.
tgStatus tgi_xml_attr_error(const tgXml *xml, const tgXmlNode *node, const tgXmlAttr *attr, tgError *error,
                            tgStatus status, const char *format, ...) TG_PRINTF(6, 7);
/// Reads up to max numbers separated by white space into value; *count gets how many. absent: *count = 0 and TG_OK.
/// Fewer than min, more than max, not a number, NaN or infinite, lengths above 1e10, others above 1e30 are errors that name the attribute.
tgStatus tgi_xml_numbers(const tgXml *xml, const tgXmlNode *node, const char *name, int min, int max, double *value,
                         int *count, tgError *error);
/// The same for any number of them, into the document's pool.
tgStatus tgi_xml_array(tgXml *xml, const tgXmlNode *node, const char *name, double **value, int *count, tgError *error);

#endif
