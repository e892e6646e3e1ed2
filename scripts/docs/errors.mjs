/** docs/errors.md: the table of src/errors/error-table.ts in order, followed by the tables of the systems in apps/. */
import { existsSync, readdirSync } from 'node:fs'

export const file = 'docs/errors.md'

export async function print() {
  const { errorTable } = await import('../../dist/errors/error-table.js')
  const systems = await Promise.all(systemsWithErrors().map(own))
  return `${introduction}\n${tableOf(errorTable)}\n${systems.join('')}`
}

const systemsWithErrors = () =>
  readdirSync(new URL('../../apps', import.meta.url))
    .filter(name => existsSync(new URL(`../../apps/${name}/errors.ts`, import.meta.url)))
    .sort()

async function own(name) {
  const { errors } = await import(`../../apps/${name}/dist/errors.js`)
  return `\n## Of the ${name}\n\nFrom apps/${name}/errors.ts; a process that runs without this system does not know them.\n\n${tableOf(errors)}\n`
}

const heading = `| code | HTTP status | retryable | English | Português |
|---|---|---|---|---|`

const tableOf = table =>
  [
    heading,
    ...Object.entries(table).map(
      ([code, { status, retryable, en, pt }]) =>
        `| \`${code}\` | ${status} | ${retryable ? 'yes' : ''} | ${cell(en)} | ${cell(pt)} |`,
    ),
  ].join('\n')

const cell = text => text.replaceAll('|', '\\|')

const introduction = `# Errors

Every error of Retoma has a stable \`code\`, one sentence and the facts. In code it is a \`RetomaError\` with \`code\` and
\`facts\`; over HTTP it is the status below. Where \`retryable\` is yes, the same call may well succeed later; an
enqueue whose answer was lost on the way may have landed, so give it a \`key\` before you repeat it. Names in braces are facts, filled in when the error is raised. A code keeps its
meaning for ever; sentences may get better, so compare codes and not sentences.

## Errors of your own

An application on Retoma brings its own, and they leave as Retoma's do: in the reader's language, with their status, and named
in /api/openapi.json where a route lists them.

\`\`\`ts
export const errors = defineErrors({
  sold_out: { status: 409, en: 'seat {seat} is sold', pt: 'o assento {seat} já foi vendido' },
})
export const refuse = (seat: string) => new RetomaError(errors.sold_out, { seat }) // without \`seat\` this does not compile
export const isSoldOut = (error: unknown) => isRetomaError(error, errors.sold_out)
\`\`\`

\`route({ …, errors: ['not_found', errors.sold_out] })\` says that a route may refuse so; \`defineConfig({ routes, errors })\`
registers both. A code of Retoma's, or of a system that runs beside, is refused at start.

## Of Retoma

Printed from src/errors/error-table.ts by \`npm run docs\`; change it there.
`
