/** apps/classifier/sql/schema.sql: the schema of the classifier after its migrations, read from a real PostgreSQL's catalog. */
export const file = 'apps/classifier/sql/schema.sql'

export async function print() {
  const { startTestServer } = await import('../../dist/testing/index.js')
  const { printSchema } = await import('../../dist/testing/print-schema.js')
  const { classifier } = await import('../../apps/classifier/dist/index.js')
  const server = await startTestServer()
  try {
    return await printSchema(server.url, classifier())
  } finally {
    await server.stop()
  }
}
