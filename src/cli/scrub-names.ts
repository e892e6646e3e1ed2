/**
 * Removes private names from texts for other readers. Used for doctor's bundle: a sentence may quote a foreign error with a URL, a folder
 * or a host name.
 *
 * Invariant: only texts change, never the name of a field; a name matches only as a whole word, however short.
 */

/** Returns the same value with `…` in place of each name, and without the user and password before an address. */
export function scrub(value: unknown, names: readonly string[]): unknown {
  const found = names
    .filter(name => name.length > 0)
    .sort((a, b) => b.length - a.length)
    .map(name => new RegExp(`(?<![\\p{L}\\p{N}_-])${escaped(name)}(?![\\p{L}\\p{N}_-])`, 'giu'))
  const clean = (text: string): string =>
    found.reduce((all, name) => all.replace(name, '…'), text).replace(/(:\/\/)[^\s/"@]*@/g, '$1')
  const walk = (each: unknown): unknown => {
    if (typeof each === 'string') return clean(each)
    if (Array.isArray(each)) return each.map(walk)
    if (typeof each !== 'object' || each === null || each instanceof Date) return each
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, walk(inner)]))
  }
  return walk(value)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Names that do not identify the database. */
const common = ['localhost', '127.0.0.1', '[::1]', 'retoma', 'postgres']

/** A name that says nothing about its owner. */
export const isCommonName = (name: string): boolean => common.includes(name)

/** The host, user, password and database of a connection string, and the whole string. */
export function namesInUrl(url: string): string[] {
  if (!URL.canParse(url)) return [url]
  const { hostname, username, password, pathname, searchParams } = new URL(url)
  const names = [hostname, username, password, pathname.slice(1)].flatMap(each => [each, plain(each)])
  return [url, ...names, ...searchParams.getAll('host')].filter(name => !isCommonName(name))
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
