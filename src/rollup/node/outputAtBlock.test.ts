import { expect, it } from 'vitest'
import { nextTurn } from '../../lib/nextTurn.ts'
import { rollupConfigOf } from '../networks/index.ts'
import { createOutputReader } from './outputAtBlock.ts'

it('limits concurrent requests to the engine for any number of clients', async () => {
  let running = 0
  let most = 0
  const engine = {
    payloadByNumber: async () => {
      most = Math.max(most, ++running)
      await nextTurn()
      running--
      return undefined
    },
    proof: () => Promise.reject(new Error('not asked for')),
  }
  const config = rollupConfigOf('op-mainnet')
  const read = createOutputReader(engine, config, { fromState: false })
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, number) => read(number)))
  expect(most).toBe(4)
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'output-block-missing' } })
})
