#!/usr/bin/env node
/**
 * `retoma …`: where the command line begins. On a Node too old to load the rest it says so; that is why the rest is
 * imported only afterwards.
 */
import { languageOf, words } from './words/index.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(words[languageOf(process.env)].oldNode(process.version))
  process.exit(1)
}
const { main } = await import('./program.ts')
process.exit(await main(process.argv.slice(2)))
