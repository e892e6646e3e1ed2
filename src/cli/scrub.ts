/**
 * Takes names out of what is to be shown to somebody else. Used for doctor's bundle: a sentence in it may quote an error of
 * somebody else's, and that a URL, a folder or a machine.
 *
 * Invariant: only texts change, never the name of a field; a name is found as a whole word, however short it is.
 */

/** The same value with `…` wherever a text has one of the names, or a user and password before an address. */
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

/** What tells nothing about whose database it is. */
const common = ['localhost', '127.0.0.1', '[::1]', 'retoma', 'postgres']

/** Host, user, password and database of a connection string, and all of it. */
export function namesInUrl(url: string): string[] {
  if (!URL.canParse(url)) return [url]
  const { hostname, username, password, pathname, searchParams } = new URL(url)
  const names = [hostname, username, password, pathname.slice(1)].flatMap(each => [each, plain(each)])
  return [url, ...names, ...searchParams.getAll('host')].filter(name => !common.includes(name))
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
