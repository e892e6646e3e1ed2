/** sql/schema.sql: the schema after all migrations, read from a real PostgreSQL's catalog. */
export const file = 'sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url)
  } finally {
    await server.stop()
  }
}
