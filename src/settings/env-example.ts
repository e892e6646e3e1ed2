/** Prints `.env.example`: every variable with its meaning and its default. Run by `npm run docs`. */
import { type Setting, variables } from './settings-table.ts'

/** `systems`: the tables of the systems in this repository, each under its heading. */
export function printExample(systems: Readonly<Record<string, Readonly<Record<string, Setting>>>> = {}): string {
  const parts = Object.entries(systems).map(([heading, table]) => `# ${heading}\n\n${blocksOf(table)}`)
  return [opening, blocksOf(variables), ...parts].join('\n')
}

const opening = `# Settings of Retoma: copy this file to .env and take away the # of the lines you need; all are optional.
# What is set in the real environment wins over .env. Printed from the tables in the code by \`npm run docs\`.
`

const blocksOf = (table: Readonly<Record<string, Setting>>): string =>
  Object.entries(table)
    .map(([name, setting]) => block(name, setting))
    .join('\n')

function block(name: string, { meaning, default: usual, absent, shown = '' }: Setting): string {
  const otherwise = usual === undefined ? `Absent: ${absent}.` : `Default: ${usual}.`
  return `# ${meaning}. ${otherwise}\n# ${name}=${usual ?? shown}\n`
}
