import { beforeEach, describe, expect, it } from 'vitest'
import { payloadToJson } from '../rollup/protocol/index.ts'
import { EMPTY_PAYLOAD } from '../rollup/protocol/testUtils/payload.ts'
import { createCalledRpc } from './testUtils/calledRpc.ts'
import { hash } from './testUtils/recorder.ts'

let { fixture, levels, call } = createCalledRpc()
beforeEach(() => {
  ;({ fixture, levels, call } = createCalledRpc())
})

describe('admin methods', () => {
  it('queue a block with the beacon root that is given, or without', async () => {
    const executionPayload = payloadToJson(EMPTY_PAYLOAD)
    const parentBeaconBlockRoot = hash('7')
    for (const root of [{}, { parentBeaconBlockRoot: null }, { parentBeaconBlockRoot }]) {
      expect(await call('admin_postUnsafePayload', [{ ...root, executionPayload }])).toEqual({ result: null })
    }
    const payload = EMPTY_PAYLOAD
    expect(fixture.calls).toEqual([
      ['post', { payload }],
      ['post', { payload }],
      ['post', { parentBeaconBlockRoot, payload }],
    ])
    for (const wrong of [null, [], {}, { executionPayload, parentBeaconBlockRoot: '0x12' }]) {
      expect(await call('admin_postUnsafePayload', [wrong])).toMatchObject({ error: { code: -32602 } })
    }
  })

  it('reset derivation', async () => {
    expect(await call('admin_resetDerivationPipeline')).toEqual({ result: null })
    expect(fixture.calls).toEqual([['reset']])
  })

  it('are unknown unless enabled', async () => {
    for (const method of ['admin_sequencerActive', 'devium_note']) {
      expect((await call(method, ['x'], { enableAdmin: false })).error).toMatchObject({ code: -32601 })
    }
    expect(await call('admin_sequencerActive')).toEqual({ result: true })
  })

  it('start on a given head or on the present one', async () => {
    expect(await call('admin_startSequencer', [])).toEqual({ result: null })
    expect(await call('admin_startSequencer', [hash('A')])).toEqual({ result: null })
    expect(fixture.calls).toEqual([
      ['start', undefined],
      ['start', hash('a')],
    ])
    expect(await call('admin_stopSequencer')).toEqual({ result: hash('5') })
  })

  it('report the conductor, and override it', async () => {
    expect(await call('admin_conductorEnabled')).toEqual({ result: true })
    expect(await call('admin_overrideLeader')).toEqual({ result: null })
    expect(await call('admin_setRecoverMode', [true])).toEqual({ result: null })
    expect(await call('admin_setRecoverMode', [])).toMatchObject({ error: { code: -32602 } })
    expect(fixture.calls).toEqual([['overrideLeader'], ['setRecoverMode', true]])
  })

  it('opt in to refunds of gas, and report it for a timestamp', async () => {
    expect(await call('admin_setSdmPostExecOptIn', [true])).toEqual({ result: null })
    const status = { postExecOptIn: true, protocolActive: false, effective: false, activationTime: 1_700_000_000 }
    expect(await call('admin_sdmStatus')).toEqual({ result: status })
    expect(await call('admin_sdmStatus', [7])).toEqual({ result: status })
    expect(await call('admin_sdmStatus', ['0x10'])).toEqual({ result: status })
    expect(await call('admin_sdmStatus', [-1])).toMatchObject({ error: { code: -32602 } })
    expect(await call('admin_setSdmPostExecOptIn', ['on'])).toMatchObject({ error: { code: -32602 } })
    expect(fixture.calls).toEqual([
      ['setSdmPostExecOptIn', true],
      ...[undefined, 7, 16].map((timestamp) => ['sdmStatus', timestamp]),
    ])
  })

  it("take op-node's short names of log levels", async () => {
    for (const level of ['trce', 'DBUG', 'info', 'warn', 'eror', 'crit'])
      expect(await call('admin_setLogLevel', [level])).toEqual({ result: null })
    expect(levels).toEqual(['trace', 'debug', 'info', 'warn', 'error', 'crit'])
  })
})
