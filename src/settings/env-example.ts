/** Prints `.env.example`: every variable with its meaning and its default. Run by `npm run docs`. */
import { type Variable, variables } from './settings-table.ts'

export function printExample(): string {
  const blocks = Object.entries(variables).map(([name, variable]) => block(name, variable))
  return `${opening}\n${blocks.join('\n')}`
}

const opening = `# Settings of Retoma: copy this file to .env and take away the # of the lines you need; all are optional.
# What is set in the real environment wins over .env. Printed from src/settings/settings-table.ts by \`npm run docs\`.
`

/** Checked at start, but not used before the systems for these variables exist. */
const waiting = ['ANTHROPIC_', 'SERPAPI_', 'FIPE_', 'PLUGGY_', 'RETOMA_FETCH_ALLOW']

function block(name: string, { meaning, default: usual, absent, shown = '' }: Variable): string {
  const otherwise = usual === undefined ? `Absent: ${absent}.` : `Default: ${usual}.`
  const later = waiting.some(begin => name.startsWith(begin)) ? ' Not used yet.' : ''
  return `# ${meaning}. ${otherwise}${later}\n# ${name}=${usual ?? shown}\n`
}
