/** docs/state-machine.md: the table of src/jobs/model/state.ts as a drawing and as a table. */
export const file = 'docs/state-machine.md'

export async function print() {
  const { states, finalStates, transitions } = await import('../../dist/jobs/model/state.js')
  const { batchStates, finalBatchStates, batchTransitions } = await import('../../dist/batches/model/batch-state.js')
  const arrows = transitions.flatMap(way =>
    way.from.filter(from => from !== way.to).map(from => `  ${from} --> ${way.to}: ${way.name}`),
  )
  const rows = transitions.map(way => `| ${way.name} | ${way.from.join(', ')} | ${way.to} | ${way.by} | ${way.when} |`)
  return `# The states of a job

Printed from src/jobs/model/state.ts by \`npm run docs\`; change it there. A test runs every transition in every state on a real
PostgreSQL and expects exactly this table.

${states.length} states: ${states.join(', ')}. Final: ${finalStates.join(', ')}. "Scheduled" and "to be retried" are
\`waiting\` with a \`run_at\` in the future.

\`\`\`mermaid
stateDiagram-v2
  [*] --> waiting: enqueue
${arrows.join('\n')}
${finalStates.map(state => `  ${state} --> [*]`).join('\n')}
\`\`\`

| transition | from | to | by | when |
|---|---|---|---|---|
${rows.join('\n')}

# The states of a batch

Printed from src/batches/model/batch-state.ts, likewise; a test runs every action in every state.

${batchStates.length} states: ${batchStates.join(', ')}. Final: ${finalBatchStates.join(', ')}. \`waiting\` is a running batch without a
started item. An action in a state without a row is refused with a code. "the same": the action has nothing to do, which is no error.

| transition | from | to | by | when |
|---|---|---|---|---|
${batchTransitions.map(way => `| ${way.name} | ${way.from.join(', ')} | ${way.to} | ${way.by} | ${way.when} |`).join('\n')}
`
}
