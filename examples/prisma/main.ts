/**
 * An order and the job that follows from it, in one interactive transaction of Prisma: both are there, or neither is.
 *
 * DATABASE_URL=postgres://… npm start
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { createEngine, defineJob } from 'retoma'
import { PrismaClient } from './generated/client.ts'

const invoice = defineJob({
  kind: 'invoice',
  run: (_, { order }: { order: number }) => console.log(`the invoice of order ${order} is made`),
})

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) })
await prisma.$executeRawUnsafe(
  'create table if not exists example_order (id integer generated always as identity primary key, customer text not null)',
)
const engine = await createEngine({ jobs: [invoice] })
await engine.work()

// Committed, the job runs at once.
const { id } = await prisma.$transaction(async tx => {
  const order = await tx.order.create({ data: { customer: 'Ana' } })
  return engine.enqueue(invoice, { order: order.id }, { tx })
})
console.log(`committed: ${(await engine.wait({ job: id })).state}`)

// Rolled back, there is no job.
let never = ''
await prisma
  .$transaction(async tx => {
    never = (await engine.enqueue(invoice, { order: 0 }, { tx })).id
    throw new Error('changed our mind')
  })
  .catch(() => {})
console.log(`rolled back: ${(await engine.job(never)) ?? 'no job'}`)

await engine.close()
await prisma.$disconnect()
