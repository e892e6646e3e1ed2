/** apps/planner/sql/schema.sql: the schema of the planner after its migrations, read from a real PostgreSQL's catalog. */
export const file = 'apps/planner/sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const { planner } = await import('../../apps/planner/dist/index.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url, planner())
  } finally {
    await server.stop()
  }
}
