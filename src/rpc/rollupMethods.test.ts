import { beforeEach, describe, expect, it } from 'vitest'
import { UsageError } from '../lib/errors.ts'
import { createCalledRpc } from './testUtils/calledRpc.ts'
import { CONFIG_JSON, hash } from './testUtils/recorder.ts'

let { fixture, call } = createCalledRpc()
beforeEach(() => {
  ;({ fixture, call } = createCalledRpc())
})

const ref = (digit: string, number: number) => ({
  hash: hash(digit),
  number,
  parentHash: hash('f'),
  timestamp: 100 + number,
})
const ref2 = (digit: string, number: number) => ({
  ...ref(digit, number),
  l1origin: { hash: hash('e'), number: 1 },
  sequenceNumber: number,
})

describe('rollup methods', () => {
  const shared = {
    current_l1: ref('1', 1),
    current_l1_finalized: ref('4', 4),
    head_l1: ref('2', 2),
    safe_l1: ref('3', 3),
    finalized_l1: ref('4', 4),
    unsafe_l2: ref2('5', 5),
    safe_l2: ref2('6', 6),
    finalized_l2: ref2('7', 7),
    pending_safe_l2: ref2('8', 8),
  }

  it('devium_derivationStatus begins with one sentence, and has null for unknown values', async () => {
    expect(await call('devium_derivationStatus')).toMatchObject({
      result: {
        state: 'up-to-date',
        ok: true,
        text: expect.stringMatching(/^All known blocks are safe\. .*\.$/),
        l1: {
          head: ref('2', 2),
          headSeenAtMs: 9_000,
          derivedTo: ref('1', 1),
          endpoint: { url: 'http://l1', failures: 0 },
        },
        l2: { safe: ref2('6', 6), safeMovedAtMs: null, windowEndsAtL1Block: 3601 },
        ...{
          engine: { isSyncing: false, endpoint: null },
          blobs: null,
          channels: [],
          lastBatch: null,
          droppedBatches: [],
          reset: null,
        },
      },
    })
  })

  it('devium_testnetCommand has the testnet run a command, where the node is part of one', async () => {
    expect(await call('devium_testnetCommands')).toEqual({ result: null })
    expect(await call('devium_testnetCommand', [['heal']])).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('--dashboard.testnet') },
    })
    const commands = [{ name: 'kill', words: 'PROGRAM', description: 'End a program' }]
    const run = async (words: readonly string[]) => {
      if (words[1] === 'nobody') throw new UsageError('there is no program "nobody"')
      return { command: words.join(' '), did: 'Killed.', lookAt: 'Look.' }
    }
    const callTestnet = (method: string, params: unknown[]) => call(method, params, { testnet: { commands, run } })
    expect(await callTestnet('devium_testnetCommands', [])).toEqual({ result: commands })
    expect(await callTestnet('devium_testnetCommand', [['kill', 'verifier1']])).toMatchObject({
      result: { command: 'kill verifier1', did: 'Killed.', lookAt: 'Look.' },
    })
    expect(await callTestnet('devium_testnetCommand', [['kill', 'nobody']])).toMatchObject({
      error: { message: 'there is no program "nobody"' },
    })
    for (const words of [[], 'heal', [1], ['x'.repeat(201)]]) {
      expect(await callTestnet('devium_testnetCommand', [words])).toMatchObject({ error: { code: -32602 } })
    }
  })

  it('devium_syncStatus has exactly the members of the document', async () => {
    expect(await call('devium_syncStatus')).toEqual({
      result: { ...shared, queued_unsafe_l2: ref2('9', 9), engine_sync_target: ref2('a', 10) },
    })
  })

  it('optimism_syncStatus has the ten members that op-node v1.19.6 has', async () => {
    expect(await call('optimism_syncStatus')).toEqual({
      result: { ...shared, local_safe_l2: ref2('b', 11) },
    })
  })

  it('outputAtBlock differs by namespace', async () => {
    expect(await call('devium_outputAtBlock', ['0x10'])).toEqual({ result: [hash('0'), hash('b')] })
    const { result } = (await call('optimism_outputAtBlock', ['0x10'])) as { result: Record<string, unknown> }
    expect(Object.keys(result)).toEqual([
      'version',
      'outputRoot',
      'blockRef',
      'withdrawalStorageRoot',
      'stateRoot',
      'syncStatus',
    ])
    expect(result.blockRef).toEqual(ref2('c', 12))
    expect(fixture.calls).toEqual([
      ['outputAtBlock', 16],
      ['outputAtBlock', 16],
    ])
  })

  it('devium_rollupConfig ends at Canyon, optimism_rollupConfig is the whole', async () => {
    const { delta_time: _, ecotone_time: __, ...upToCanyon } = CONFIG_JSON
    const { eip1559Params: ___, ...systemConfig } = CONFIG_JSON.genesis.system_config
    expect(await call('devium_rollupConfig')).toEqual({
      result: { ...upToCanyon, genesis: { ...CONFIG_JSON.genesis, system_config: systemConfig } },
    })
    expect(await call('optimism_rollupConfig')).toEqual({ result: CONFIG_JSON })
    delete fixture.node.rollupConfig.protocolVersionsAddress
    for (const method of ['devium_rollupConfig', 'optimism_rollupConfig']) {
      expect(await call(method)).toMatchObject({ result: { protocol_versions_address: `0x${'0'.repeat(40)}` } })
    }
  })

  it('optimism_dependencySet has the chains of the set, or is not found', async () => {
    expect(await call('optimism_dependencySet')).toEqual({ error: { code: -32000, message: 'not found' } })
    fixture.node.rollupConfig.dependencySet = [901n, 902n]
    expect(await call('optimism_dependencySet')).toEqual({ result: { dependencies: { 901: {}, 902: {} } } })
    fixture.node.rollupConfig.messageExpiryWindowS = 600
    expect(await call('optimism_dependencySet')).toMatchObject({ result: { overrideMessageExpiryWindow: 600 } })
  })

  it('answers the version under three names', async () => {
    for (const name of ['devium_version', 'optimism_version', 'health_status'])
      expect(await call(name)).toEqual({ result: 'v1.2.3' })
  })

  it('passes on what the node refuses', async () => {
    for (const name of ['optimism_safeHeadAtL1Block', 'devium_safeHeadAtL1Block']) {
      expect(await call(name, ['0x5'])).toEqual({
        error: { code: -32000, message: 'failed to get safe head at l1 block 0x5: safe head database not enabled' },
      })
    }
  })

  it("gives a chain's super root in op-node's shape", async () => {
    const word = (digit: string) => `0x${digit.repeat(64)}`
    const requiredL1 = { hash: word('2'), number: 2 }
    expect(await call('superroot_atTimestamp', ['0x5'])).toEqual({
      result: {
        current_l1: { hash: word('1'), number: 1 },
        safe_timestamp: 6,
        local_safe_timestamp: 6,
        finalized_timestamp: 7,
        optimistic_at_timestamp: {
          901: {
            output: { stateRoot: word('e'), messagePasserStorageRoot: word('d'), blockHash: word('c') },
            output_root: word('b'),
            required_l1: requiredL1,
          },
        },
        chain_ids: ['901'],
        data: {
          verified_required_l1: requiredL1,
          super: { timestamp: '0x5', chains: [{ ChainID: '901', Output: word('b') }] },
          super_root: word('f'),
        },
      },
    })
  })
})
