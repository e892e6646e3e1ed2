/**
 * Reads a robots.txt by RFC 9309 and decides whether a path may be fetched. Pure functions for hostile bytes: the work is bounded by the
 * number of rules, the length of a rule and the length of a path.
 */

interface Rule {
  isAllowed: boolean
  pattern: string
}

export type RobotsRules = readonly Rule[]

const mostRules = 2000
const longestPattern = 500
const longestPath = 1000

/** The rules for `agent`, a product token such as `RetomaQuotes`; otherwise the rules for `*`. */
export function readRobots(text: string, agent: string): RobotsRules {
  const own: Rule[] = []
  const general: Rule[] = []
  const name = agent.toLowerCase()
  // The group of rules that is being read: for our agent, for every agent.
  let forUs = false
  let forAll = false
  let isInAgents = false
  let isOwn = false
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)) {
    const [, field = '', given = ''] = /^\s*([\w-]+)\s*:([^#]*)/.exec(line) ?? []
    const value = given.trim()
    const word = field.toLowerCase()
    if (word === 'user-agent') {
      const named = value.toLowerCase()
      forUs = (isInAgents && forUs) || named === name
      forAll = (isInAgents && forAll) || named === '*'
      isInAgents = true
      isOwn ||= forUs
      continue
    }
    if (word !== 'allow' && word !== 'disallow') continue
    isInAgents = false
    // An empty rule allows everything, as no rule does.
    if (value === '' || value.length > longestPattern) continue
    const isNeeded = (forUs && own.length < mostRules) || (forAll && general.length < mostRules)
    if (!isNeeded) continue
    const rule = { isAllowed: word === 'allow', pattern: normal(value) }
    if (forUs && own.length < mostRules) own.push(rule)
    if (forAll && general.length < mostRules) general.push(rule)
  }
  return isOwn ? own : general
}

/** The longest matching rule decides; of two equally long rules the one that allows. */
export function isAllowedBy(rules: RobotsRules, url: URL): boolean {
  const path = normal(`${url.pathname}${url.search}`).slice(0, longestPath)
  let best: Rule | undefined
  for (const rule of rules) {
    const isLonger = best === undefined || rule.pattern.length > best.pattern.length
    const isEqual = best !== undefined && rule.pattern.length === best.pattern.length && rule.isAllowed
    if ((isLonger || isEqual) && matches(rule.pattern, path)) best = rule
  }
  return best?.isAllowed ?? true
}

/** `*` stands for any characters, and `$` at the end of a pattern for the end of the path. */
function matches(pattern: string, path: string): boolean {
  const isAnchored = pattern.endsWith('$')
  const parts = (isAnchored ? pattern.slice(0, -1) : pattern).split('*')
  const first = parts[0]!
  if (!path.startsWith(first)) return false
  if (parts.length === 1) return !isAnchored || path === first
  const last = parts.at(-1)!
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return isAnchored ? path.length - last.length >= at && path.endsWith(last) : path.indexOf(last, at) >= 0
}

/** The same form of percent-encoding on both sides. */
function normal(text: string): string {
  return text
    .replace(/[^\u0021-\u007e]/gu, each => (each.isWellFormed() ? encodeURIComponent(each) : '%EF%BF%BD'))
    .replace(/%([0-9a-f]{2})/gi, (encoded, hex: string) => {
      const character = String.fromCharCode(Number.parseInt(hex, 16))
      return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
    })
}
