/** Reads the version of this package from package.json, a folder above both dist/ and src/. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

export const version: string = manifest.version
