/** docs/errors.md: the table of src/error-table.ts, in its order. */
export const file = 'docs/errors.md'

export async function print() {
  const { errorTable } = await import('../../dist/error-table.js')
  const rows = Object.entries(errorTable).map(
    ([code, { status, retryable, en, pt }]) =>
      `| \`${code}\` | ${status} | ${retryable ? 'yes' : ''} | ${cell(en)} | ${cell(pt)} |`,
  )
  return `${introduction}\n${rows.join('\n')}\n`
}

const cell = text => text.replaceAll('|', '\\|')

const introduction = `# Errors

Every error of Retoma has a stable \`code\`, one sentence and the facts. In code it is a \`RetomaError\` with \`code\` and
\`facts\`; over HTTP it is the status below. Where \`retryable\` is yes, the same call may well succeed later; an
enqueue whose answer was lost on the way may have landed, so give it a \`key\` before you repeat it. Names in braces are facts, filled in when the error is raised. A code keeps its
meaning for ever; sentences may get better, so compare codes and not sentences.

Printed from src/error-table.ts by \`npm run docs\`; change it there.

| code | HTTP status | retryable | English | Português |
|---|---|---|---|---|`
