/** The text of `.env.example`: every variable with its meaning and what holds without it. Printed by `npm run docs`. */
import { type Variable, variables } from './table.ts'

export function printExample(): string {
  const blocks = Object.entries(variables).map(([name, variable]) => block(name, variable))
  return `${opening}\n${blocks.join('\n')}`
}

const opening = `# Settings of Retoma: copy this file to .env and take away the # of the lines you need; all are optional.
# What is set in the real environment wins over .env. Printed from src/settings/table.ts by \`npm run docs\`.
`

/** Already heeded; the others are checked at start, and wait for the parts that will use them. */
const heeded = [
  'DATABASE_',
  'RETOMA_DATA_DIR',
  'HOST',
  'PORT',
  'PUBLIC_URL',
  'UPSTASH_',
  'RETOMA_LIMITS',
  'RETOMA_WORKER_MEMORY',
  'RETOMA_SUPERVISE',
  'RETENTION_DAYS',
  'LOG_',
]

function block(name: string, { meaning, default: usual, absent }: Variable): string {
  const otherwise = usual === undefined ? `Absent: ${absent}.` : `Default: ${usual}.`
  const later = heeded.some(begin => name.startsWith(begin)) ? '' : ' Not used yet.'
  return `# ${meaning}. ${otherwise}${later}\n# ${name}=${usual ?? ''}\n`
}
