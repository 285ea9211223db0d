import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { hostCheck } from './hostCheck.ts'

async function statusFor(allowed: string[], host: string): Promise<number> {
  const app = new Hono()
  app.use('*', hostCheck(allowed))
  app.post('/', (context) => context.text('here'))
  return (await app.request('/', { method: 'POST', headers: { host } })).status
}

it.each([
  [['localhost'], 'localhost:8545', 200],
  [['localhost'], 'LOCALHOST', 200],
  [['localhost'], '127.0.0.1:8545', 200],
  [['localhost'], '[::1]:8545', 200],
  [['localhost'], 'rebound.example:8545', 403],
  [['localhost'], '127.0.0.1.rebound.example', 403],
  [['geth'], 'localhost', 403],
  [['geth'], 'geth:8551', 200],
  [['*'], 'anything.example', 200],
])('%j and Host: %s', async (allowed, host, status) => {
  expect(await statusFor(allowed, host)).toBe(status)
})
