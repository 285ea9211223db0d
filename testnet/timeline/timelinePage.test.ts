import { expect, it } from 'vitest'
import { ManualClock } from '../../src/lib/clock.ts'
import { panelsOf } from './panels.ts'
import { timelinePage } from './timelinePage.ts'
import { TimelineRecorder } from './timelineRecorder.ts'

const START_MS = 1_000_000
const node = (name: string, peerId: string) => ({ name, peerId })

/** A sequencer that builds a block each second, and a verifier that stalls and scores an unauthenticated peer. */
async function recorded() {
  const clock = new ManualClock(START_MS)
  const history = (name: string, since: number) => {
    const atMs = [2_000, 4_000, 6_000].map((ms) => START_MS + ms).filter((ms) => ms > since && ms <= clock.now())
    const column = (value: (ms: number) => number | null) => atMs.map((ms) => value(ms - START_MS))
    const isSequencer = name === 'sequencer'
    return {
      samples: {
        atMs,
        unsafe: column((ms) => (isSequencer ? ms / 1_000 : 1)),
        safe: column(() => 0),
        finalized: column(() => 0),
        ...{ peers: column(() => 1), mesh: column(() => 1), gas: column(() => null) },
      },
      scores: { atMs, peers: { 'id-of-sequencer': column(() => 3), '16Uiu2HAmNewPeer1': column((ms) => ms * -1_000) } },
      events:
        atMs.length === 0 || isSequencer
          ? []
          : [{ atMs: atMs.at(-1), kind: 'ban', text: 'banned: bad-rpc', subject: '16Uiu2HAmNewPeer1' }],
    }
  }
  const nodes = [node('sequencer', 'id-of-sequencer'), node('verifier1', 'id-of-verifier1')]
  const testnet = {
    endpoints: {
      nodes: nodes.map((one) => ({
        ...one,
        rollupRpc: '',
        ethRpc: '',
        ethWs: '',
        engineRpc: '',
        metrics: '',
        gethMetrics: '',
        p2p: '',
        jwt: '',
      })),
    },
    request: async (name: string, _: string, [since]: readonly unknown[]) => history(name, Number(since)),
  }
  const recorder = new TimelineRecorder({ clock, testnet })
  const ending = new AbortController()
  const running = recorder.run(ending.signal)
  recorder.note({ event: 'scenario', name: 'apart', about: 'Nodes <part>.' })
  await clock.advance(3_000)
  recorder.note({ event: 'command', command: 'partition verifier1', did: 'Peers are parted.', lookAt: '' })
  await clock.advance(3_000)
  recorder.note({ event: 'step', what: 'they agree', passed: false, seconds: 3 })
  recorder.note({ event: 'verdict', name: 'apart', passed: false, seconds: 6, why: '"they agree" is not so' })
  ending.abort()
  await running
  return recorder.timeline()
}

it('records each sample and event once, with the names of peers', async () => {
  const { nodes, scenarios, marks } = await recorded()
  expect(nodes.verifier1?.samples.atMs).toEqual([2_000, 4_000, 6_000].map((ms) => START_MS + ms))
  expect(Object.keys(nodes.verifier1?.scores ?? {})).toEqual(['sequencer', '…NewPeer1'])
  expect(nodes.verifier1?.scores.sequencer).toHaveLength(3)
  expect(nodes.verifier1?.events.at(-1)).toMatchObject({ subject: '…NewPeer1', text: 'banned: bad-rpc' })
  expect(scenarios).toEqual([
    {
      ...{ name: 'apart', about: 'Nodes <part>.', passed: false, why: '"they agree" is not so' },
      ...{ fromMs: START_MS, toMs: START_MS + 6_000 },
    },
  ])
  expect(marks.map(({ kind, text }) => [kind, text])).toEqual([
    ['fault', 'partition verifier1: Peers are parted.'],
    ['failure', 'they agree (3.0 s)'],
  ])
})

it('draws how far nodes are behind, and clips low scores', async () => {
  const [behind, , , scores] = panelsOf(await recorded())
  const lineOf = (panel: typeof behind) =>
    panel?.lines.find(({ label }) => label === 'verifier1')?.points.map(([, value]) => value)
  expect(lineOf(behind)).toEqual([1, 3, 5])
  expect(lineOf(scores)).toEqual([-120, -120, -120])
})

it('is one self-contained page without a script', async () => {
  const page = timelinePage(await recorded())
  expect(page).toContain('Nodes &lt;part>.')
  expect(page).toContain('Failed: apart')
  expect(page).toContain('<em>verifier1</em> …NewPeer1 banned: bad-rpc.')
  expect(page).toContain('--accent:')
  expect(page).not.toMatch(/<script|<link|src=/)
})
