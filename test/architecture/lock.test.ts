/**
 * `npm ci` refuses a lock file that lacks an optional package of any system, and npm itself writes such files. A package without an
 * integrity in the lock file is installed whatever its bytes are.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** A plain script, without types. */
const { lacking } = await import(new URL('../../scripts/lock.mjs', import.meta.url).href)

const lockIn = (folder: string) =>
  JSON.parse(readFileSync(new URL(`../../${folder}package-lock.json`, import.meta.url), 'utf8'))

const folders = ['', 'examples/', 'test/next/', 'test/oldest/', 'test/runtimes/', 'test/too-old/']

test.each(folders)(
  'the lock file in %j has the packages of every system, so that npm ci takes it (`node scripts/lock.mjs` adds them)',
  folder => {
    expect(lacking(lockIn(folder))).toEqual([])
  },
)

// bench/ is installed by `npm install`, which does not want the packages of other systems.
test.each([...folders, 'bench/'])(
  'every package of the lock file in %j has its integrity, also those of other systems',
  folder => {
    const packages: Record<string, { integrity?: string; link?: boolean }> = lockIn(folder).packages
    // Neither this package nor the others of the repository come from anywhere.
    const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
    expect(installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path)).toEqual([])
    expect(installed).not.toEqual([])
  },
)

test('a package that is not there is noticed, and one that lies deeper or above is not', () => {
  const wants = (name: string) => ({ optionalDependencies: { [name]: '1.0.0' } })
  const packages = {
    'node_modules/a': wants('beside'),
    'node_modules/beside': {},
    'node_modules/a/node_modules/b': wants('deeper'),
    'node_modules/a/node_modules/b/node_modules/deeper': {},
    'node_modules/a/node_modules/c': wants('gone'),
  }
  expect(lacking({ packages })).toEqual([{ name: 'gone', version: '1.0.0', by: 'node_modules/a/node_modules/c' }])
})
