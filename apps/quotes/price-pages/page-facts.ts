/**
 * Collects the parts of a page that may contain a price: JSON-LD scripts, microdata, meta tags. Reads the page as a stream of tags, without
 * a tree, so that memory stays small for every page.
 */
import { Parser } from 'htmlparser2'

/** A property of microdata, with the place in the page. */
interface Property {
  name: string
  value: string | Item
  start: number
  end: number
}

/** An element with `itemscope`. */
export interface Item {
  types: string[]
  properties: Property[]
}

interface Meta {
  /** In small letters. */
  name: string
  content: string
  start: number
  end: number
}

export interface PageFacts {
  jsonLd: string[]
  /** Items that are no property of another item. */
  items: Item[]
  /** Properties outside of any item. */
  loose: Property[]
  metas: Meta[]
  title: string | null
  lang: string
  canonical: string | null
}

interface Capture {
  property: Property
  text: string
}

interface Open {
  item: Item | null
  capture: Capture | null
}

const mostScripts = 200
const mostProperties = 5000
const mostMetas = 2000
/** Texts inside each other that are collected at once. */
const mostCaptures = 30
const longestText = 2000

export function collectFacts(html: string): PageFacts {
  const facts: PageFacts = { jsonLd: [], items: [], loose: [], metas: [], title: null, lang: '', canonical: null }
  const open: Open[] = []
  const items: Item[] = []
  const captures: Capture[] = []
  let script: string[] | null = null
  let title: string[] | null = null
  let properties = 0

  const add = (property: Property) => {
    if (++properties > mostProperties) return
    const to = items.at(-1)?.properties ?? facts.loose
    to.push(property)
  }

  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        const place = { start: parser.startIndex, end: parser.endIndex + 1 }
        if (tag === 'html') facts.lang = attributes.lang ?? ''
        if (tag === 'link' && /(?:^|\s)canonical(?:\s|$)/i.test(attributes.rel ?? ''))
          facts.canonical ??= attributes.href ?? null
        if (tag === 'script' && /^application\/ld\+json\b/i.test((attributes.type ?? '').trim())) script = []
        if (tag === 'title' && facts.title === null) title = []
        if (tag === 'meta') addMeta(facts, attributes, place)
        open.push(entered(tag, attributes, place))
      },
      ontext(text) {
        if (script !== null) script.push(text)
        if (title !== null) title.push(text.slice(0, longestText))
        for (const capture of captures)
          if (capture.text.length < longestText) capture.text += text.slice(0, longestText)
      },
      onclosetag(tag) {
        if (tag === 'script' && script !== null) {
          if (facts.jsonLd.length < mostScripts) facts.jsonLd.push(script.join(''))
          script = null
        }
        if (tag === 'title' && title !== null) {
          facts.title = tidy(title.join(''))
          title = null
        }
        const left = open.pop()
        if (left?.item) items.pop()
        if (left?.capture) {
          captures.splice(captures.indexOf(left.capture), 1)
          left.capture.property.value = tidy(left.capture.text)
          left.capture.property.end = parser.endIndex + 1
        }
      },
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  )

  /** Opens the item or the property of an element. */
  function entered(tag: string, attributes: Record<string, string>, place: { start: number; end: number }): Open {
    const names = (attributes.itemprop ?? '').split(/\s+/).filter(Boolean).slice(0, 10)
    if (attributes.itemscope !== undefined) {
      const item: Item = { types: (attributes.itemtype ?? '').split(/\s+/).filter(Boolean), properties: [] }
      if (names.length === 0 || items.length === 0) facts.items.push(item)
      else for (const name of names) add({ name, value: item, ...place })
      items.push(item)
      return { item, capture: null }
    }
    if (names.length === 0) return { item: null, capture: null }
    const value = attributeValue(tag, attributes)
    if (value !== undefined || captures.length >= mostCaptures) {
      for (const name of names) add({ name, value: value ?? '', ...place })
      return { item: null, capture: null }
    }
    const property: Property = { name: names[0]!, value: '', ...place }
    add(property)
    const capture = { property, text: '' }
    captures.push(capture)
    return { item: null, capture }
  }

  parser.write(html)
  parser.end()
  return facts
}

/** undefined: the text of the element is the value. */
function attributeValue(
  tag: string,
  { content, href, src, value, datetime }: Record<string, string>,
): string | undefined {
  if (content !== undefined) return tidy(content)
  if (tag === 'link' || tag === 'a' || tag === 'area') return href ?? ''
  if (tag === 'img') return src ?? ''
  if (tag === 'data' || tag === 'meter' || tag === 'input') return value ?? ''
  if (tag === 'time' && datetime !== undefined) return datetime
  return tag === 'meta' ? '' : undefined
}

function addMeta(
  facts: PageFacts,
  { property, name, content }: Record<string, string>,
  place: { start: number; end: number },
): void {
  const named = (property ?? name ?? '').trim().toLowerCase()
  if (named === '' || content === undefined || facts.metas.length >= mostMetas) return
  facts.metas.push({ name: named, content: tidy(content), ...place })
}

const tidy = (text: string): string => text.slice(0, longestText).replace(/\s+/g, ' ').trim()
