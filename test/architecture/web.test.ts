/** The dashboard: its folders import each other in one direction, its pages know nothing of each other, and nothing comes from src/. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSource } from './source.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const { devDependencies } = JSON.parse(readFileSync(join(root, 'web', 'package.json'), 'utf8'))
const packages = [...Object.keys(devDependencies), 'react', 'react-dom']

/** What each folder may import; the files beside main.tsx are "top". */
const arrows: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  i18n: ['lib'],
  api: ['lib', 'i18n'],
  live: ['lib', 'api'],
  components: ['lib', 'i18n'],
  systems: ['lib', 'i18n', 'api', 'live', 'components', 'layout'],
  pages: ['lib', 'i18n', 'api', 'live', 'components', 'layout'],
  layout: ['lib', 'i18n', 'api', 'live', 'components', 'systems', 'pages', 'top'],
  top: ['lib', 'i18n', 'api', 'live', 'components', 'systems', 'pages', 'layout'],
}

const sources = new Map(
  readdirSync(join(root, 'web', 'src'), { recursive: true, encoding: 'utf8' })
    .filter(path => /\.tsx?$/.test(path))
    .map(path => [path, readFileSync(join(root, 'web', 'src', path), 'utf8')] as const),
)

const folderOf = (path: string) => (path.includes('/') ? path.split('/')[0]! : 'top')
/** Pages and systems: each has a folder of its own. All systems use the parts in systems/shared. */
const ownRoomOf = (path: string) => /^(?:pages|systems)\/(?!shared\/)[^/]+(?=\/)/.exec(path)?.[0]

function broken(path: string, text: string): string[] {
  return readSource(text).imports.flatMap(({ from }) => {
    if (!from.startsWith('.')) {
      const name = from
        .split('/')
        .slice(0, from.startsWith('@') ? 2 : 1)
        .join('/')
      return packages.includes(name) ? [] : [`${path}: ${name} is not among the dependencies of web/package.json`]
    }
    const target = posix.join(posix.dirname(path), from)
    if (target.startsWith('..')) return [`${path}: ${from} is outside of web/src`]
    const [own, other] = [folderOf(path), folderOf(target)]
    const [ownRoom, otherRoom] = [ownRoomOf(path), ownRoomOf(target)]
    if (ownRoom !== undefined && otherRoom !== undefined && ownRoom !== otherRoom)
      return [`${path}: ${ownRoom} may not import ${otherRoom}`]
    return own === other || arrows[own]?.includes(other) ? [] : [`${path}: ${own} may not import ${other}`]
  })
}

test('every file of the dashboard keeps to the import arrows', () => {
  expect(sources.size).toBeGreaterThan(40)
  expect([...sources].flatMap(([path, text]) => broken(path, text))).toEqual([])
})

test('no file of the dashboard is longer than 300 lines, except the printed types', () => {
  const long = [...sources].filter(([path, text]) => path !== 'api/schema.ts' && text.split('\n').length > 300)
  expect(long.map(([path]) => path)).toEqual([])
})

test('the dashboard writes no markup from a text', () => {
  const found = [...sources].filter(([, text]) => /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML/.test(text))
  expect(found.map(([path]) => path)).toEqual([])
})

test('an import against the arrows is noticed', () => {
  expect(broken('components/a.tsx', `import { b } from '../pages/jobs/b.ts'`)).toHaveLength(1)
  expect(broken('pages/jobs/a.tsx', `import { b } from '../batches/b.ts'`)).toHaveLength(1)
  expect(broken('lib/a.ts', `import { b } from '../../../src/index.ts'`)).toHaveLength(1)
  expect(broken('lib/a.ts', `import lodash from 'lodash'`)).toHaveLength(1)
  expect(broken('pages/jobs/a.tsx', `import { b } from '../../api/query.ts'`)).toEqual([])
})
