import { describe, expect, it } from 'vitest'
import { rollupConfigOf } from '../../../rollup/networks/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/index.ts'
import { testConfig } from '../../../rollup/protocol/testUtils/config.ts'
import type { BeaconFacts, ChainFacts, DoctorFacts, EngineFacts, FlagFacts, FollowedFacts, L1Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { diagnose } from './judge.ts'
import { DAY, healthyFacts, METHODS_UP_TO_KARST, NOW, UP_TO_JOVIAN } from './testUtils/facts.ts'

interface Change {
  forks?: ChainFacts['config']['forks']
  chain?: Partial<ChainFacts>
  flags?: Partial<FlagFacts>
  engine?: Partial<EngineFacts>
  l1?: Partial<L1Facts>
  beacon?: Partial<BeaconFacts>
  followed?: FollowedFacts
}

function changed({ forks, chain, flags, engine, l1, beacon, followed }: Change): DoctorFacts {
  const facts = healthyFacts(forks)
  return {
    ...facts,
    chain: { ...facts.chain, ...chain },
    flags: { ...facts.flags, ...flags },
    engine: { ...facts.engine, ...engine },
    l1: facts.l1.map((endpoint) => ({ ...endpoint, ...l1 })),
    beacon: facts.beacon === undefined ? undefined : { ...facts.beacon, ...beacon },
    followed,
  }
}

const SOON = NOW + 3 * DAY
const LONG_AGO = NOW - 100 * DAY
const KARST_SOON = { ...UP_TO_JOVIAN, jovian: 0, karst: SOON }
const MARS = (time: number) => ({
  config: testConfig({ ...UP_TO_JOVIAN, jovian: 0, karst: 0 }, { unknownForks: [{ name: 'mars', time }] }),
})
const DOWN = { code: 'down', text: 'refused' } as const
const FOLLOWED = { url: 'http://other', chainId: 901n, safe: { number: 900, time: NOW - 20 } }
const LAGOON = (lagoon: number, parts: Partial<RollupConfig> = {}) => ({
  config: testConfig({ ...UP_TO_JOVIAN, jovian: 0, karst: 0, lagoon }, parts),
})
const l1Head = (change: object) => ({ head: { number: 5_000, time: NOW - 12, isGlamsterdam: false, ...change } })
const sepolia = (change: Partial<ChainFacts> = {}) => {
  const config = rollupConfigOf('op-sepolia')
  const registry = { name: 'op-sepolia', forks: config.forks, hasLeft: false }
  return { config, given: config.forks, source: 'network op-sepolia', isBuiltIn: true, registry, ...change }
}

/** The fault, its code, when it stops the node, and a part of its text. */
const CASES: [string, Change, Pick<Finding, 'code' | 'subject' | 'fork' | 'stops'>, RegExp][] = [
  [
    'a fork that this version does not know',
    { chain: MARS(SOON) },
    { code: 'fork-unknown', subject: 'version', fork: 'mars', stops: SOON },
    /^This version does not know the fork mars: it stops following the chain at 2026-11-29 12:00:00 UTC, in 3 days\.$/,
  ],
  [
    'such a fork that is over',
    { chain: MARS(NOW - DAY) },
    { code: 'fork-unknown', subject: 'version', fork: 'mars', stops: 'now' },
    /it stopped following the chain at 2026-11-25 12:00:00 UTC, 24 h ago\.$/,
  ],
  [
    'a chain on which the node does not start',
    { chain: { refusal: { text: 'no dependency set is configured', fork: 'lagoon' } } },
    { code: 'chain-refused', subject: 'version', fork: 'lagoon', stops: 'now' },
    /^The node does not start: no dependency set is configured\.$/,
  ],
  [
    'an engine of a family that has ended',
    { forks: KARST_SOON, engine: { client: 'Geth/v1.101603.5-stable/linux-amd64/go1.24' } },
    { code: 'engine-too-old', subject: 'engine', fork: 'karst', stops: SOON },
    /is not ready for karst \(2026-11-29 12:00:00 UTC, in 3 days\): op-geth was discontinued on 2026-05-31/,
  ],
  [
    'a release of the engine that is too old',
    { forks: KARST_SOON, engine: { client: 'op-reth/v2.3.1-abc/x86_64' } },
    { code: 'engine-too-old', subject: 'engine', fork: 'karst', stops: SOON },
    /op-reth supports karst since version 2\.3\.2\./,
  ],
  [
    'an engine without a method of the fork',
    { forks: KARST_SOON, engine: { client: 'Other/v1', methods: METHODS_UP_TO_KARST.slice(0, -1) } },
    { code: 'engine-lacks-method', subject: 'engine', fork: 'karst', stops: SOON },
    /it lacks engine_getPayloadV5/,
  ],
  [
    'an engine without a method of the active fork',
    {
      forks: { ...UP_TO_JOVIAN, jovian: 0, karst: NOW - 1 },
      engine: { client: 'Other/v1', methods: ['engine_newPayloadV3', 'engine_forkchoiceUpdatedV3'] },
    },
    { code: 'engine-lacks-method', subject: 'engine', fork: 'karst', stops: 'now' },
    /it lacks engine_newPayloadV4, engine_getPayloadV5/,
  ],
  [
    'an engine whose genesis file lacks the fork',
    { forks: KARST_SOON, engine: { client: 'devium-geth/v1.0.0', runs: { karst: false } } },
    { code: 'engine-lacks-fork', subject: 'engine', fork: 'karst', stops: SOON },
    /it does not apply the rules of the fork to calls at that time/,
  ],
  [
    'an engine past the fork without its rules',
    { forks: { ...KARST_SOON, karst: NOW - DAY }, engine: { runs: { karst: false } } },
    { code: 'engine-lacks-fork', subject: 'engine', fork: 'karst', stops: 'now' },
    /it does not apply the rules of the fork to calls at that time/,
  ],
  [
    'a release that knows the fork, and does not list a method of it',
    { forks: KARST_SOON, engine: { methods: METHODS_UP_TO_KARST.slice(0, -1) } },
    { code: 'engine-unsure', subject: 'engine', fork: 'karst', stops: null },
    /It is unknown whether/,
  ],
  [
    'an engine of which nothing is known',
    { forks: KARST_SOON, engine: { client: 'Nethermind/v1.40.0' } },
    { code: 'engine-unsure', subject: 'engine', fork: 'karst', stops: null },
    /It is unknown whether/,
  ],
  [
    'an engine that does not answer',
    { engine: { problem: { code: 'down', text: 'connection refused' } } },
    { code: 'engine-down', subject: 'engine', fork: null, stops: 'now' },
    /^The node cannot use the engine at http:\/\/engine: connection refused\.$/,
  ],
  [
    'an engine with another secret',
    { engine: { problem: { code: 'unauthorized', text: 'HTTP 401' } } },
    { code: 'engine-jwt', subject: 'engine', fork: null, stops: 'now' },
    /refuses the JWT secret/,
  ],
  [
    'an engine of another chain, of which nothing else is said',
    { engine: { chainId: 10n, methods: ['engine_newPayloadV1'] } },
    { code: 'engine-wrong-chain', subject: 'engine', fork: null, stops: 'now' },
    /runs chain 10, but the node is configured for chain 901/,
  ],
  [
    'an engine with another genesis block',
    { engine: { genesisHash: '0x00' } },
    { code: 'engine-wrong-genesis', subject: 'engine', fork: null, stops: 'now' },
    /another genesis block/,
  ],
  [
    'an engine that is behind',
    { engine: { head: { number: 7, time: LONG_AGO } } },
    { code: 'engine-behind', subject: 'engine', fork: null, stops: null },
    /is behind: its head is block 7, 100 days ago/,
  ],
  [
    'an L1 block of a fork that this version does not know',
    { l1: { headProblem: { code: 'unknown-fork', text: 'L1 block 7 has fields that nobody knows' } } },
    { code: 'l1-unknown-fork', subject: 'version', fork: null, stops: 'now' },
    /^L1 block 7 has fields that nobody knows\.$/,
  ],
  [
    'an L1 endpoint that does not answer',
    { l1: { problem: { code: 'down', text: 'refused' } } },
    { code: 'l1-down', subject: 'L1', fork: null, stops: 'now' },
    /refused/,
  ],
  [
    'an L1 endpoint of another chain',
    { l1: { chainId: 1n } },
    { code: 'l1-wrong-chain', subject: 'L1', fork: null, stops: 'now' },
    /belongs to chain 1, but this chain's L1 is 900/,
  ],
  [
    'an L1 endpoint whose head is old',
    { l1: l1Head({ time: NOW - 12_000 }) },
    { code: 'l1-behind', subject: 'L1', fork: null, stops: 'now' },
    /block 5000, 3 h ago/,
  ],
  [
    'an L1 endpoint that announces a fork without a name',
    { l1: { next: { time: SOON, updateFraction: 3_338_477n } } },
    { code: 'l1-next-fork', subject: 'L1', fork: null, stops: null },
    /announces a fork for 2026-11-29 12:00:00 UTC \(in 3 days\)/,
  ],
  [
    'blob parameters of L1 that this version does not have',
    { l1: { next: { time: SOON, updateFraction: 99n } } },
    { code: 'l1-blob-parameters', subject: 'version', fork: null, stops: SOON },
    /has the blob fee update fraction 99 from .* but this node uses 3338477/,
  ],
  [
    'a fork in the L1 chain config that this version does not know',
    { chain: { l1Forks: [{ name: 'venus', time: SOON }] } },
    { code: 'l1-fork-unknown', subject: 'version', fork: 'venus', stops: SOON },
    /L1 schedules the fork venus/,
  ],
  [
    'a fork in the beacon spec that this version does not know',
    { beacon: { forks: [{ name: 'venus', time: NOW - DAY }] } },
    { code: 'l1-fork-unknown', subject: 'version', fork: 'venus', stops: 'now' },
    /L1 schedules the fork venus/,
  ],
  [
    'a beacon API that is an execution client',
    { beacon: { problem: { code: 'wrong-kind', text: 'it answers JSON-RPC (Geth/v1)' } } },
    { code: 'beacon-is-execution-client', subject: 'beacon', fork: null, stops: 'now' },
    /^http:\/\/beacon is an execution client, not a beacon API/,
  ],
  [
    'a beacon API that does not answer',
    { beacon: { problem: { code: 'down', text: 'refused' } } },
    { code: 'beacon-down', subject: 'beacon', fork: null, stops: 'now' },
    /refused/,
  ],
  [
    'a beacon API of another L1, by its chain id',
    { beacon: { depositChainId: 1n } },
    { code: 'beacon-wrong-chain', subject: 'beacon', fork: null, stops: 'now' },
    /belongs to L1 chain 1, but this chain's L1 is 900/,
  ],
  [
    'a beacon API of another L1, by its slots',
    { beacon: { genesisTime: NOW - 12_007 } },
    { code: 'beacon-wrong-chain', subject: 'beacon', fork: null, stops: 'now' },
    /matches no slot/,
  ],
  [
    'a beacon API without blobs',
    { beacon: { serves: 'none' } },
    { code: 'beacon-no-blobs', subject: 'beacon', fork: null, stops: 'now' },
    /neither blobs nor blob_sidecars/,
  ],
  [
    'a beacon API with blobs in the form that ends',
    { beacon: { serves: 'sidecars' } },
    { code: 'beacon-old-blobs', subject: 'beacon', fork: 'glamsterdam', stops: null },
    /only as blob_sidecars/,
  ],
  [
    'a beacon API that does not report its slot length',
    { beacon: { lacksSlotLength: true } },
    { code: 'beacon-no-slots', subject: 'beacon', fork: null, stops: 'now' },
    /SECONDS_PER_SLOT/,
  ],
  [
    'a beacon API that is behind',
    { beacon: { slotsBehind: 65 } },
    { code: 'beacon-behind', subject: 'beacon', fork: null, stops: 'now' },
    /65 slots behind/,
  ],
  [
    'a followed node that does not answer',
    { followed: { url: 'http://other', problem: DOWN } },
    { code: 'follow-down', subject: 'followed node', fork: null, stops: 'now' },
    /^The node cannot follow http:\/\/other: refused\. The safe head does not move\.$/,
  ],
  [
    'a followed node of another chain',
    { followed: { ...FOLLOWED, chainId: 10n } },
    { code: 'follow-wrong-chain', subject: 'followed node', fork: null, stops: 'now' },
    /^The node at http:\/\/other belongs to chain 10, not to 901\.$/,
  ],
  [
    'a safe head before the blobs that are kept',
    { engine: { safe: { number: 3, time: NOW - 20 * DAY } } },
    { code: 'blobs-expired', subject: 'beacon', fork: null, stops: null },
    /keeps blobs only for 18 days/,
  ],
  [
    'a change of blob parameters that only the beacon API knows',
    { beacon: { blobChanges: [0, SOON] } },
    { code: 'l1-blob-parameters', subject: 'version', fork: null, stops: SOON },
    /schedules new blob parameters for 2026-11-29/,
  ],
  [
    'an override against the rollup config',
    {
      chain: { config: testConfig({ ...KARST_SOON, karst: SOON + DAY }), given: KARST_SOON },
      flags: { overridden: ['karst'] },
      engine: { runs: { karst: true } },
    },
    { code: 'override-differs', subject: 'flags', fork: 'karst', stops: SOON },
    /^--override\.karst says 1796040000, but the rollup config rollup\.json says 1795953600/,
  ],
  [
    'a rollup config that lacks a fork of the registry',
    {
      chain: {
        ...{ given: UP_TO_JOVIAN, config: testConfig(UP_TO_JOVIAN) },
        registry: { name: 'my-chain', forks: { ...UP_TO_JOVIAN, jovian: NOW - DAY }, hasLeft: false },
      },
    },
    { code: 'config-differs', subject: 'flags', fork: 'jovian', stops: 'now' },
    /^For jovian, the registry \(my-chain\) says \d+ .*, but the rollup config rollup\.json does not schedule it/,
  ],
  [
    'a network that has left the registry',
    { chain: { isBuiltIn: true, registry: { name: 'gone', forks: {}, hasLeft: true } } },
    { code: 'left-registry', subject: 'version', fork: null, stops: null },
    /^gone has left the superchain registry/,
  ],
  [
    'a registry of long ago',
    { chain: { isBuiltIn: true, registry: { name: 'chain', forks: {}, hasLeft: false } } },
    { code: 'registry-old', subject: 'version', fork: null, stops: null },
    /superchain registry of 2026-08-04 \(114 days ago\)/,
  ],
  [
    'an L1 that is trusted',
    { flags: { trustsL1: true } },
    { code: 'l1-trusted', subject: 'flags', fork: null, stops: null },
    /--l1\.trustrpc/,
  ],
  [
    'a flag without effect',
    { flags: { warnings: ['--heartbeat.url has no effect any more and is ignored'] } },
    { code: 'flag-without-effect', subject: 'flags', fork: null, stops: null },
    /^--heartbeat\.url has no effect any more and is ignored\.$/,
  ],
  [
    'a warning about the config',
    { flags: { configWarnings: ['Unknown member karst_tmie: it is ignored. Did you mean karst_time?'] } },
    { code: 'config-warning', subject: 'flags', fork: null, stops: null },
    /Did you mean karst_time\?$/,
  ],
]

describe('diagnose', () => {
  it.each(CASES)('finds %s', (_, change, expected, text) => {
    const { ok, findings } = diagnose(changed(change))
    expect(findings).toEqual([{ ...expected, text: expect.stringMatching(text), next: expect.stringMatching(/\S/) }])
    expect(ok).toBe(expected.stops === null)
  })

  it.each<[string, Change]>([
    ['a healthy chain', {}],
    ['a fork ahead that the release knows', { forks: KARST_SOON }],
    [
      'a fork ahead that the engine runs',
      { forks: KARST_SOON, engine: { client: 'devium-geth/v1', runs: { karst: true } } },
    ],
    // reth uses the rules of its head in such a call, so a wrong answer proves nothing.
    ['reth that runs no call ahead of time', { forks: KARST_SOON, engine: { runs: { karst: false } } }],
    [
      'an engine that has executed the fork',
      { forks: { ...KARST_SOON, karst: NOW - DAY }, engine: { client: 'Other/v1' } },
    ],
    [
      "a chain that took Pectra's blob parameters later than L1, before now",
      {
        chain: {
          config: testConfig(
            { ...UP_TO_JOVIAN, jovian: 0, karst: 0 },
            { l1BlobSchedule: [{ time: NOW - DAY, updateFraction: 5_007_716n }], pectraBlobScheduleTime: NOW - 3_600 },
          ),
        },
        l1: { current: { time: NOW - DAY, updateFraction: 5_007_716n } },
      },
    ],
    [
      'a geth of another make that runs the fork',
      { forks: KARST_SOON, engine: { client: 'geth/v9.0.0', runs: { karst: true } } },
    ],
    [
      'a safe head before the blobs that are kept, with an archive',
      { engine: { safe: { number: 3, time: NOW - 20 * DAY } }, flags: { hasBeaconFallbacks: true } },
    ],
  ])('has no finding at %s', (_, change) => {
    expect(diagnose(changed(change))).toMatchObject({ ok: true, findings: [] })
  })

  it('only notes an unreadable L1 block if the node trusts its L1', () => {
    const l1 = { headProblem: { code: 'unknown-fork', text: 'unknown fields' } } as const
    const { ok, findings } = diagnose(changed({ l1, flags: { trustsL1: true } }))
    expect({ ok, codes: findings.map(({ code }) => code) }).toEqual({
      ok: true,
      codes: ['l1-trusted', 'l1-unknown-fork'],
    })
  })

  it('only notes missing blobs if the node follows another node', () => {
    const change = { beacon: { serves: 'none' }, followed: FOLLOWED } as const
    expect(diagnose(changed(change))).toMatchObject({ ok: true, findings: [{ code: 'beacon-no-blobs', stops: null }] })
  })

  it('orders findings: present problems, later problems, notes', () => {
    const { findings } = diagnose(
      changed({
        ...{ chain: MARS(SOON), flags: { trustsL1: true }, l1: { problem: { code: 'down', text: 'refused' } } },
        beacon: { forks: [{ name: 'venus', time: NOW + DAY }] },
      }),
    )
    expect(findings.map(({ code }) => code)).toEqual(['l1-down', 'l1-fork-unknown', 'fork-unknown', 'l1-trusted'])
  })

  it('only notes a silent L1 endpoint if another one answers', () => {
    const facts = healthyFacts()
    const [endpoint] = facts.l1
    if (endpoint === undefined) throw new Error('no L1')
    const down: L1Facts = { url: 'http://first', problem: { code: 'down', text: 'refused' } }
    expect(diagnose({ ...facts, l1: [down, endpoint] })).toMatchObject({ ok: true, findings: [{ code: 'l1-down' }] })
    expect(diagnose({ ...facts, l1: [down, { ...down, url: 'http://second' }] }).ok).toBe(false)
  })

  it('shows for each fork which parts are ready', () => {
    const facts = changed({
      forks: KARST_SOON,
      ...{ chain: { l1Forks: [{ name: 'amsterdam', time: SOON }] }, engine: { client: 'op-reth/v2.1.0' } },
      beacon: { forks: [{ name: 'gloas', time: SOON }] },
    })
    const forks = diagnose(facts).forks.map(({ name, time, isActive, ready }) => [name, time, isActive, ready])
    expect(forks.slice(-3)).toEqual([
      ['jovian', 0, true, { version: 'yes', engine: 'yes' }],
      ['karst', SOON, false, { version: 'yes', engine: 'no' }],
      ['glamsterdam', SOON, false, { version: 'yes', L1: 'unknown', beacon: 'yes' }],
    ])
    const unknown = diagnose(changed({ chain: MARS(SOON) })).forks.find(({ name }) => name === 'mars')
    expect(unknown).toMatchObject({ ready: { version: 'no', engine: 'unknown' } })
  })

  describe('a missing upgrade bundle of Lagoon', () => {
    const lagoonOf = (change: Change) => {
      const { findings, forks } = diagnose(changed(change))
      const found = findings.filter(({ code }) => code === 'upgrade-bundle-missing')
      return { found, ready: forks.find(({ name }) => name === 'lagoon')?.ready.version }
    }
    const at = (seconds: number, finalized = seconds) => {
      return { safe: { number: 9, time: seconds }, finalized: { number: 8, time: finalized } }
    }

    it('is reported days before, with the time at which the node stops', () => {
      const { found, ready } = lagoonOf({ chain: LAGOON(SOON) })
      expect(found).toMatchObject([{ subject: 'version', fork: 'lagoon', stops: SOON }])
      expect(found[0]?.text).toMatch(
        /^The node stops before Lagoon at 2026-11-29 12:00:00 UTC, in 3 days: .*--rollup\.upgrade-bundle.*`devium bundle from-block`\.$/,
      )
      expect(ready).toBe('no')
    })

    it('is reported for a chain that stopped before Lagoon', () => {
      const { found } = lagoonOf({ chain: LAGOON(NOW - DAY), engine: at(NOW - DAY - 2) })
      expect(found).toMatchObject([
        { stops: 'now', text: expect.stringMatching(/^The node stopped before Lagoon at /) },
      ])
    })

    it('is reported if a start goes back to a block before Lagoon', () => {
      const { found } = lagoonOf({ chain: LAGOON(NOW - 60), engine: at(NOW - 2, NOW - 600) })
      expect(found).toMatchObject([
        { stops: 'now', text: expect.stringMatching(/^A start goes back to the finalized/) },
      ])
    })

    it.each<[string, Change]>([
      ['the node has it', { chain: LAGOON(SOON, { lagoonBundle: [] }) }],
      ['the activation block is finalized', { chain: LAGOON(NOW - DAY), engine: at(NOW - DAY) }],
      ['the engine is down and the fork time is past', { chain: LAGOON(NOW - DAY), engine: { problem: DOWN } }],
      ['the chain has Lagoon from genesis on', { chain: LAGOON(0) }],
      ['the node follows another one', { chain: LAGOON(SOON), followed: FOLLOWED }],
    ])('is not reported if %s', (_, change) => {
      expect(lagoonOf(change).found).toEqual([])
    })
  })

  describe('on Sepolia', () => {
    const at = (l1: Partial<L1Facts>) => {
      const chain = sepolia({ isBuiltIn: false })
      const facts = changed({ chain, l1: { chainId: 11_155_111n, genesisHash: chain.config.genesis.l1.hash, ...l1 } })
      return {
        ...facts,
        engine: { ...facts.engine, chainId: chain.config.l2ChainId, genesisHash: chain.config.genesis.l2.hash },
        beacon: undefined,
      }
    }

    it('knows the time of Glamsterdam, and whether L1 activated it', () => {
      const ready = diagnose(at(l1Head({ isGlamsterdam: true })))
      expect(ready.ok).toBe(true)
      expect(ready.forks.at(-1)).toMatchObject({
        ...{ name: 'glamsterdam', time: 1_791_294_816, isActive: true, ready: { version: 'yes', L1: 'yes' } },
      })
      const missed = diagnose(at(l1Head({})))
      expect(missed.findings[0]).toMatchObject({ code: 'l1-missed-fork', fork: 'glamsterdam', stops: 'now' })
      expect(missed.forks.at(-1)).toMatchObject({ ready: { L1: 'no' } })
    })
  })
})
