import { expect, it } from 'vitest'
import { createCallContext } from '../jsonRpc/callContext.ts'
import { systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { createRollupRpc } from './index.ts'
import { rpcDocument } from './rpcDocument.ts'
import { recorder } from './testUtils/recorder.ts'

function tableWith(enableAdmin: boolean) {
  const { node, p2p } = recorder()
  const logger = { ...silentLogger, setLevel: () => {} }
  return createRollupRpc({ node, p2p, clock: systemClock, logger }, { version: 'v1', enableAdmin })
}

async function discover(enableAdmin: boolean) {
  const body = '{"jsonrpc":"2.0","id":1,"method":"rpc_discover","params":[]}'
  const chunks = await tableWith(enableAdmin).dispatcher.handle(body, createCallContext({ timeoutMs: 600_000 }))
  return JSON.parse(chunks?.join('') ?? '').result
}

it('rpc_discover lists every served method, itself included', async () => {
  for (const enableAdmin of [false, true]) {
    const { openrpc, info, methods } = await discover(enableAdmin)
    expect({ openrpc, info }).toEqual({ openrpc: '1.3.2', info: { title: 'devium rollup node', version: 'v1' } })
    const names = methods.map(({ name }: { name: string }) => name)
    expect(names).toEqual(tableWith(enableAdmin).methods.map(({ name }) => name))
    expect(names).toContain('rpc_discover')
    expect(names.includes('admin_stopSequencer')).toBe(enableAdmin)
  }
})

it('rpc_discover describes parameters, results and access', async () => {
  const { methods } = await discover(true)
  const method = (name: string) => methods.find((one: { name: string }) => one.name === name)
  expect(method('admin_startSequencer')).toEqual({
    name: 'admin_startSequencer',
    summary: 'Start building blocks on the unsafe head. The optional hash must match that head',
    paramStructure: 'by-position',
    params: [
      {
        name: 'unsafe head',
        description: 'a block hash: 32 bytes of hex with 0x prefix',
        required: false,
        schema: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
      },
    ],
    result: { name: 'result', description: 'null', schema: { type: 'null' } },
    tags: [{ name: 'changes' }, { name: 'admin' }],
  })
  expect(method('devium_subscribe').params[0].schema).toEqual({
    enum: ['heads', 'derivation', 'health', 'peers', 'bans'],
  })
  expect(method('opp2p_blockPeer').tags).toEqual([{ name: 'changes' }])
  expect(method('optimism_outputAtBlock').tags).toEqual([])
})

it('rpc_discover describes what the notifications of each topic hold', async () => {
  const { 'x-notifications': notifications, methods } = await discover(false)
  const { devium_subscription: topics } = notifications
  const subscribe = methods.find(({ name }: { name: string }) => name === 'devium_subscribe')
  expect(Object.keys(topics).toSorted()).toEqual(subscribe.params[0].schema.enum.toSorted())
  const health = ['state', 'ok', 'sinceMs', 'text', 'causes', 'derivation', 'gossip']
  expect(topics.health.required).toEqual(health)
  expect(topics.bans.anyOf[0].properties).toMatchObject({ event: { const: 'ban' }, untilMs: { type: 'number' } })
})

it('docs/rpc.md is generated from the table (vitest --update writes it)', async () => {
  await expect(rpcDocument(tableWith(true).methods)).toMatchFileSnapshot('../../docs/rpc.md')
})
