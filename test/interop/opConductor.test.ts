import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../src/lib/testUtils/until.ts'
import { startTestNode, type TestNode } from '../../src/p2p/testUtils/testNode.ts'
import { parseRollupConfig } from '../../src/rollup/protocol/index.ts'
import { roles } from '../../testnet/accounts.ts'
import { unsafeHead } from '../support/heads.ts'
import { type ClusterMember, type SequencerCluster, startSequencerCluster } from '../support/sequencerCluster.ts'

// Three sequencers of ours under real op-conductors: whoever leads is killed, another goes on. Needs a binary of
// op-conductor: DEVIUM_OP_CONDUCTOR=/path/to/op-conductor.
const opConductor = process.env.DEVIUM_OP_CONDUCTOR
const title =
  opConductor === undefined ? 'with op-conductor (skipped: DEVIUM_OP_CONDUCTOR names no binary)' : 'with op-conductor'

let cluster: SequencerCluster
/** Hears all blocks that the sequencers publish. */
let witness: TestNode

/** The member whose sequencer is active; undefined while none or more than one is. */
async function activeOf(members: readonly ClusterMember[]): Promise<ClusterMember | undefined> {
  const active: ClusterMember[] = []
  for (const member of members) {
    if (await member.node.request('admin_sequencerActive', []).catch(() => false)) active.push(member)
  }
  return active.length === 1 ? active[0] : undefined
}

async function newLeader(members: readonly ClusterMember[]): Promise<ClusterMember> {
  let leader: ClusterMember | undefined
  await until('another sequencer to be active', async () => {
    leader = await activeOf(members)
    return leader !== undefined
  })
  if (leader === undefined) throw new Error('nobody leads')
  return leader
}

async function madeBlocks(leader: ClusterMember, count: number): Promise<void> {
  const { number } = await unsafeHead(leader.node)
  await until(`${count} blocks of ${leader.name}`, async () => (await unsafeHead(leader.node)).number >= number + count)
}

/** Number and hash of the blocks that the members' logs say they made, and of those that a peer has heard of. */
function blocksSoFar(): { number: number; hash: string }[] {
  const logs = join(cluster.directory, 'logs')
  const made = readdirSync(logs).flatMap((name) =>
    [...readFileSync(join(logs, name), 'utf8').matchAll(/msg="Sequenced block".* number=(\d+) hash=(0x\w+)/g)].map(
      ([, number, hash = '']) => ({ number: Number(number), hash }),
    ),
  )
  const heard = witness.received.map(({ payload }) => ({ number: payload.blockNumber, hash: payload.blockHash }))
  expect(Math.min(made.length, heard.length)).toBeGreaterThan(2)
  return [...made, ...heard]
}

/** Every block that anybody has made or published is the one of its height in the member's chain. */
async function expectWhole(member: ClusterMember): Promise<void> {
  const { number: height } = await unsafeHead(member.node)
  for (const { number, hash } of blocksSoFar()) {
    if (number > height) continue
    const block = await member.eth.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
    expect(block).toMatchObject({ hash })
  }
}

describe.skipIf(opConductor === undefined)(title, () => {
  beforeAll(async () => {
    cluster = await startSequencerCluster(opConductor ?? '', 3)
    const config = parseRollupConfig(JSON.parse(readFileSync(cluster.rollupConfigPath, 'utf8')))
    witness = await startTestNode(
      { staticPeers: cluster.members.map(({ p2p }) => p2p) },
      { chain: { config, signerAddress: () => roles.sequencer.address, payloadByNumber: async () => undefined } },
    )
    await until('published blocks', async () => witness.received.length >= 3)
  })

  afterAll(async () => {
    await witness?.node.stop()
    await cluster?.stop()
  })

  it('one of three sequencers makes the blocks, and the others follow', async () => {
    const leader = await newLeader(cluster.members)
    await madeBlocks(leader, 5)
    for (const { node } of cluster.members) expect(await node.request('admin_conductorEnabled', [])).toBe(true)
    const others = cluster.members.filter((member) => member !== leader)
    for (const { node } of others) {
      await expect(node.request('admin_startSequencer', [(await unsafeHead(node)).hash])).rejects.toThrow(
        'sequencer is not the leader, aborting',
      )
      expect((await unsafeHead(node)).number).toBeGreaterThan(3)
    }
    await expectWhole(leader)
  })

  it('hands over by command, and no block is lost or doubled', async () => {
    const leader = await newLeader(cluster.members)
    await leader.conductor.request('conductor_transferLeader', [])
    const next = await newLeader(cluster.members.filter((member) => member !== leader))
    await madeBlocks(next, 5)
    await expectWhole(next)
    await expectWhole(leader)
  })

  it('another sequencer continues after the leader, its engine and its conductor are killed', async () => {
    const leader = await newLeader(cluster.members)
    const before = (await unsafeHead(leader.node)).number
    await leader.kill()
    const rest = cluster.members.filter((member) => member !== leader)
    const next = await newLeader(rest)
    await madeBlocks(next, 5)
    expect((await unsafeHead(next.node)).number).toBeGreaterThan(before)
    for (const member of rest) await expectWhole(member)
  })

  it('a killed member returns, follows, and leads again', async () => {
    const back = cluster.members.find(({ processes }) => !processes.node.running)
    if (back === undefined) throw new Error('none was killed')
    const leader = await newLeader(cluster.members.filter((member) => member !== back))
    await back.restart()
    await until(`${back.name} to follow`, async () => {
      return (await unsafeHead(back.node)).number >= (await unsafeHead(leader.node)).number - 1
    })
    // The cluster talks to a member that was away only now and then at first.
    await until('the leader to hand over', async () => {
      await leader.conductor.request('conductor_transferLeaderToServer', [back.name, back.consensus])
      return true
    })
    expect(await newLeader([back])).toBe(back)
    await madeBlocks(back, 5)
    for (const member of cluster.members) await expectWhole(member)
    // For what comes next one of three has to be away.
    await leader.kill()
  })

  it("another sequencer continues after only the leader's rollup node is killed", async () => {
    const alive = cluster.members.filter(({ processes }) => processes.conductor.running)
    expect(alive).toHaveLength(2)
    const leader = await newLeader(alive)
    const [last] = alive.filter((member) => member !== leader)
    if (last === undefined) throw new Error('none is left')
    // op-conductor gives a new leader the last block only. Those before it arrive by gossip, over links that the death of
    // the third may just have cut.
    await madeBlocks(leader, 2)
    await until(`${last.name} to follow`, async () => {
      return (await unsafeHead(last.node)).number >= (await unsafeHead(leader.node)).number
    })
    leader.processes.node.kill()
    expect(await newLeader([last])).toBe(last)
    await madeBlocks(last, 5)
    await expectWhole(last)
  })
})
