/** The rules of robots.txt, with the examples of RFC 9309. */
import { expect, test } from 'vitest'
import { isAllowedBy, readRobots } from './robots.ts'

const isAllowed = (text: string, path: string) =>
  isAllowedBy(readRobots(text, 'RetomaQuotes'), new URL(path, 'https://loja.example.com.br'))

test('the group of our token counts, otherwise the group of every agent, otherwise everything is allowed', () => {
  const text = 'User-agent: *\nDisallow: /\n\nUser-agent: OtherBot\nUser-Agent: retomaquotes\nDisallow: /cart\n'
  expect(isAllowed(text, '/p/1')).toBe(true)
  expect(isAllowed(text, '/cart/1')).toBe(false)
  expect(isAllowed('User-agent: *\nDisallow: /', '/p')).toBe(false)
  expect(isAllowed('User-agent: OtherBot\nDisallow: /', '/p')).toBe(true)
  expect(isAllowed('User-agent: RetomaQuotes\nDisallow:\n\nUser-agent: *\nDisallow: /', '/p')).toBe(true)
  expect(isAllowed('', '/p')).toBe(true)
  expect(isAllowed('<html>404</html>', '/p')).toBe(true)
})

test.each([
  ['/fish', '/fish.html', false],
  ['/fish', '/Fish', true],
  ['/fish*', '/fishheads', false],
  ['/fish/', '/fish', true],
  ['/*.php', '/a/b.php?x=1', false],
  ['/*.php$', '/a.php?x=1', true],
  ['/*.php$', '/a.php', false],
  ['/fish*.php', '/fishheads/catfish.php', false],
  ['/*/a*/b', '/x/a1/y/b', false],
  ['/p?q=*', '/p?q=1', false],
  ['/foo/bar/ツ', '/foo/bar/%E3%83%84', false],
  ['/a%3cd', '/a%3Cd', false],
  ['/%61b', '/ab', false],
  ['$', '/', true],
  ['*', '/anything', false],
])('Disallow: %s, %s: allowed is %s', (pattern, path, allowed) => {
  expect(isAllowed(`user-agent: *\ndisallow: ${pattern} # comment`, path)).toBe(allowed)
})

test('the longest rule decides, and of two equal rules the one that allows', () => {
  const text = 'User-agent: *\r\nDisallow: /\r\nAllow: /p/\r\nDisallow: /p/x\r\nAllow: /p/x\r\nSitemap: https://x/s.xml'
  expect(isAllowed(text, '/other')).toBe(false)
  expect(isAllowed(text, '/p/1')).toBe(true)
  expect(isAllowed(text, '/p/x')).toBe(true)
})

test('half a megabyte of agents is read in a time that grows with its length only', () => {
  const agents = 'user-agent:a\n'.repeat(20_000)
  const text = `${agents}user-agent: *\n${'allow:/\n'.repeat(20_000)}Disallow: /x`
  expect(isAllowed(text, '/x')).toBe(true)
  expect(isAllowed(`${agents}user-agent: *\nDisallow: /x`, '/x')).toBe(false)
})

test('a hostile robots.txt of half a megabyte is read', () => {
  const text = `User-agent: *\n${`Disallow: /${'*a'.repeat(240)}b\n`.repeat(1000)}`
  expect(isAllowed(text, `/${'a'.repeat(3000)}`)).toBe(true)
})
