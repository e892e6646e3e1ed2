#!/usr/bin/env node
/**
 * Entry point of the command line `retoma …`. Reports a Node version that is too old to load the rest; so the rest is imported only after
 * the check.
 */
import { fileURLToPath } from 'node:url'
import { builtModule } from '../lib/package-root.ts'
import { languageOf, messagesIn } from './messages/index.ts'

const language = languageOf(process.env)
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 12)) {
  console.error(messagesIn[language].oldNode(process.version))
  process.exit(1)
}
const argv = process.argv.slice(2)
const { superviseIfAsked } = await import('./supervise.ts')
const ended = await superviseIfAsked(fileURLToPath(builtModule('cli/main.js')), argv, language)
if (ended !== undefined) process.exit(ended)
const { main } = await import('./program.ts')
process.exit(await main(argv))
