import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import { fakeGenesis } from '../engine/testUtils/fakeEngine.ts'
import { ConductorClient } from './conductorClient.ts'
import { type FakeConductor, startFakeConductor } from './testUtils/fakeConductor.ts'

const BLOCK = fakeGenesis(100, 30_000_000n)
const COMMIT = 'conductor_commitUnsafePayload'
let conductor: FakeConductor
let rpc: RpcClient
let client: ConductorClient

beforeEach(async () => {
  conductor = await startFakeConductor()
  rpc = createPatientClient({ url: conductor.url })
  client = new ConductorClient({ rpc, clock: systemClock, logger: silentLogger }, { timeoutMs: WAIT_LIMIT_MS })
})
afterEach(async () => {
  await rpc.close()
  await conductor.close()
})

describe('ConductorClient', () => {
  it('requests the leader status', async () => {
    expect(await client.isLeader()).toBe(true)
    conductor.isLeader = false
    expect(await client.isLeader()).toBe(false)
  })

  it('commits the complete block with its beacon root', async () => {
    await client.commit(BLOCK)
    expect(conductor.log.committed).toEqual([BLOCK])
  })

  it("retries once, and passes the conductor's error on", async () => {
    let failures = 1
    conductor.fault = () => {
      if (failures-- > 0) throw new JsonRpcError(-32000, 'raft is busy')
    }
    await client.commit(BLOCK)
    expect(conductor.calls).toEqual([COMMIT, COMMIT])
    conductor.isLeader = false
    await expect(client.commit(BLOCK)).rejects.toMatchObject({
      severity: 'temporary',
      cause: { message: 'failed to apply payload envelope: node is not the leader' },
    })
    expect(conductor.calls).toHaveLength(4)
  })

  it('limits both tries by the timeout of one call', async () => {
    const clock = new ManualClock()
    const limitsMs: unknown[] = []
    const request = async (_: string, __: readonly unknown[], { timeoutMs }: { timeoutMs?: number } = {}) => {
      limitsMs.push(timeoutMs)
      await clock.advance(takesMs)
      throw new Error('connection lost')
    }
    const slow = new ConductorClient({ rpc: { request }, clock, logger: silentLogger }, { timeoutMs: 1000 })
    let takesMs = 300
    const rejected = expect(slow.isLeader()).rejects.toMatchObject({ severity: 'temporary' })
    await loopTurns(10)
    // The pause between both tries.
    await clock.advance(50)
    await rejected
    expect(limitsMs).toEqual([1000, 650])
    takesMs = 950
    await expect(slow.isLeader()).rejects.toMatchObject({ cause: { message: 'connection lost' } })
    expect(limitsMs).toEqual([1000, 650, 1000])
  })

  it('does not accept other answers than true or false', async () => {
    const odd = new ConductorClient(
      { rpc: { request: async () => 'yes' }, clock: systemClock, logger: silentLogger },
      { timeoutMs: 1000 },
    )
    await expect(odd.isLeader()).rejects.toThrow(errorWith('conductor-call', 'conductor_leader'))
  })

  it('sends no requests after an override', async () => {
    conductor.isLeader = false
    client.overrideLeader()
    expect(await client.isLeader()).toBe(true)
    await client.commit(BLOCK)
    expect(conductor.calls).toEqual([])
  })
})
