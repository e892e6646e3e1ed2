/** A link in the pages leads somewhere: to a file that is there, and to a heading that it has. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const pagesIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name))

const pages = [
  ...['.', 'docs', 'docs/adr', 'docs/api'].flatMap(pagesIn),
  'bench/README.md',
  'examples/README.md',
  'apps/classifier/README.md',
]

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsIn = (text: string) => [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => anchorOf(heading!))

/** The links of a page that lead nowhere here. */
function broken(page: string, text: string): string[] {
  const prose = text.replace(/```.*?```/gs, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter(link => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsIn(path === '' ? text : read(target)).includes(anchor)
    })
    .map(link => `${page}: ${link}`)
}

test('every link in the pages leads somewhere', () => {
  expect(pages.length).toBeGreaterThan(30)
  expect(pages.flatMap(page => broken(page, read(page)))).toEqual([])
})

test('every page of docs/ is linked from the README, or from one that is', () => {
  const reached = new Set<string>()
  const follow = (page: string) => {
    if (reached.has(page) || !page.endsWith('.md')) return
    reached.add(page)
    for (const [, link] of read(page).matchAll(/\]\(([^)#\s:]+)(?:#[^)]*)?\)/g)) {
      const target = join(dirname(page), link!)
      if (existsSync(join(root, target))) follow(target)
    }
  }
  follow('README.md')
  expect(pagesIn('docs').filter(page => !reached.has(page))).toEqual([])
})

test('every entry point of the package has a page in the API reference, linked from the overview', () => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, unknown> }
  const entries = Object.keys(exports).filter(entry => entry !== './package.json')
  const linked = entries.filter(entry => {
    const name = entry.replace('.', 'retoma')
    return read('docs/README.md').includes(`[${name}](api/${name.replace('/', '-')}.md)`)
  })
  expect(linked).toEqual(entries)
})

test('a link to nothing, and one to no heading, would be noticed', () => {
  const text =
    '# Here\n[a](nothing.md) [b](docs/limits.md#no-such) [c](#here) [d](https://example.com) [e](docs/limits.md#limits)'
  expect(broken('README.md', text)).toEqual(['README.md: nothing.md', 'README.md: docs/limits.md#no-such'])
})
