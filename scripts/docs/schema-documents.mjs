/** apps/documents/sql/schema.sql: the schema of the documents after its migrations, read from a real PostgreSQL's catalog. */
export const file = 'apps/documents/sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const { documents } = await import('../../apps/documents/dist/index.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url, documents())
  } finally {
    await server.stop()
  }
}
