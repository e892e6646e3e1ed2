/** apps/snaps/sql/schema.sql: the schema of the snaps after its migrations, read from a real PostgreSQL's catalog. */
export const file = 'apps/snaps/sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const { snaps } = await import('../../apps/snaps/dist/index.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url, snaps())
  } finally {
    await server.stop()
  }
}
