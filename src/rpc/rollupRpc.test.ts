import fc from 'fast-check'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createCallContext } from '../jsonRpc/callContext.ts'
import { systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { propertyRuns } from '../lib/testUtils/propertyRuns.ts'
import { WAIT_LIMIT_MS } from '../lib/testUtils/until.ts'
import { createRollupRpc, createRpcMetrics } from './index.ts'
import { createCalledRpc } from './testUtils/calledRpc.ts'
import { recorder } from './testUtils/recorder.ts'

const logger = { ...silentLogger, setLevel: () => {} }

describe('metrics', () => {
  it('count bytes of parameters and results as op-node does', async () => {
    const registry = new Registry()
    const { dispatcher } = createRollupRpc(
      { node: recorder().node, clock: systemClock, logger, metrics: createRpcMetrics(registry, 'x') },
      { version: 'vé', enableAdmin: false },
    )
    const calls = [
      { jsonrpc: '2.0', id: 1, method: 'optimism_version', params: [] },
      { jsonrpc: '2.0', id: 2, method: 'optimism_version' },
      { jsonrpc: '2.0', id: 3, method: 'optimism_outputAtBlock', params: ['x'] },
    ]
    await dispatcher.handle(JSON.stringify(calls), createCallContext({ timeoutMs: WAIT_LIMIT_MS }))
    const lines = (await registry.metrics()).split('\n').filter((line) => /^x_rpc_server_(params|results)_/.test(line))
    expect(lines).toEqual([
      'x_rpc_server_params_size_total{rpc="main",method="optimism_version"} 2',
      'x_rpc_server_params_size_total{rpc="main",method="optimism_outputAtBlock"} 5',
      'x_rpc_server_results_size_total{rpc="main",method="optimism_version"} 10',
    ])
  })

  it('measure a call with deeply nested parameters', async () => {
    const deep = `${'['.repeat(199)}${']'.repeat(199)}`
    const { dispatcher } = createRollupRpc(
      {
        node: recorder().node,
        clock: systemClock,
        logger,
        metrics: createRpcMetrics(new Registry(), 'x'),
      },
      { version: 'v', enableAdmin: false },
    )
    const body = `{"jsonrpc":"2.0","id":1,"method":"optimism_version","params":${deep}}`
    const answer = await dispatcher.handle(body, createCallContext({ timeoutMs: WAIT_LIMIT_MS }))
    expect(answer?.join('')).toContain('-32602')
  })
})

describe('parameter checks', () => {
  const cases = [
    {
      method: 'devium_outputAtBlock',
      params: [],
      message: /\bargument 0\b.*\bblock number\b.*\bhex\b/,
    },
    {
      method: 'devium_outputAtBlock',
      params: [1],
      message: /\bargument 0\b.*\bblock number\b.*\b1$/,
    },
    { method: 'devium_outputAtBlock', params: ['0x1', 2], message: /\b1$/ },
    { method: 'deviump2p_peers', params: ['yes'], message: /\bargument 0\b.*\bconnected\b/ },
    { method: 'deviump2p_blockPeer', params: [''], message: /\bargument 0\b.*\bpeer id\b/ },
    { method: 'deviump2p_blockPeer', params: ['x'.repeat(5000)], message: /\bargument 0\b/ },
    { method: 'deviump2p_blockSubnet', params: [null], message: /\bargument 0\b.*\bCIDR\b/ },
    { method: 'deviump2p_blockSubnet', params: [{ IP: 5 }], message: /\bargument 0\b/ },
    {
      method: 'admin_startSequencer',
      params: ['0x12'],
      message: /\bargument 0\b.*\bunsafe head\b.*\bhash\b/,
    },
    { method: 'admin_postUnsafePayload', params: [{}], message: /\bargument 0\b/ },
    { method: 'admin_setLogLevel', params: ['loud'], message: /\blevel\b.*\btrace\b/ },
    { method: 'devium_version', params: [1], message: /\b0$/ },
  ]
  it.each(cases)('$method($params)', async ({ method, params, message }) => {
    const { error } = (await createCalledRpc().call(method, params)) as { error: { code: number; message: string } }
    expect(error.code).toBe(-32602)
    expect(error.message).toMatch(message)
  })

  it('answer any JSON with a result or a considered error, never -32603', async () => {
    const { methods } = createRollupRpc(
      { node: recorder().node, p2p: recorder().p2p, clock: systemClock, logger },
      { version: 'v', enableAdmin: true },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        fc.array(fc.jsonValue(), { maxLength: 2 }),
        async ({ name }, params) => {
          const { error } = (await createCalledRpc().call(name, params)) as { error?: { code: number } }
          expect(error?.code).not.toBe(-32603)
        },
      ),
      { numRuns: propertyRuns(500) },
    )
  })
})
