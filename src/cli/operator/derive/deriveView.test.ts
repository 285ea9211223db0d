import { describe, expect, it } from 'vitest'
import { DERIVATION_ANSWER_MS, derivationAnswer } from '../../testUtils/derivationAnswer.ts'
import { formatDerivation } from './deriveView.ts'

describe('formatDerivation', () => {
  it('begins with the summary, followed by the facts', () => {
    expect(formatDerivation(derivationAnswer(), DERIVATION_ANSWER_MS)).toBe(
      [
        'derivation: batches-dropped',
        'The safe head does not move because the last span batch was dropped: parent hash is not the hash of the safe head.',
        '',
        'L1            head 500 0xabab…abab, derived to 496 0xabab…abab, 4 confirmations required',
        'L1 endpoint   http://l1:8545 answers',
        'safe head     1000 0xabab…abab, advanced 3 min ago',
        'unsafe head   1010 0xabab…abab',
        'engine        http://engine:8551 silent for 20 s',
        'window ends   at L1 block 4080',
        'last batch    span, L1 block 490, 3 min ago',
        'empty blocks  7, the last 5 s ago',
        'last reset    60 min ago: detected L1 reorg',
        'failing       3 times in 20 s: forkchoice update failed',
        'blobs         0x01aa…aaaa of L1 block 497 (slot 99), 2 attempts',
        '              http://beacon:5052: answers 404',
        '',
        'open channel  frames   bytes  since         times out',
        '0x1212…1212   2 of 3  240000  L1 block 480  in 34 L1 blocks',
        '',
        'dropped batch  L1 block  when        reason',
        'span                495  60 s ago    parent hash is not the hash of the safe head; its channel is lost',
        'singular            480  10 min ago  an older one',
        '',
        'ignored data  L1 block  when        reason',
        'frame              470  12 min ago  no such channel is open',
      ].join('\n'),
    )
  })

  it('shows few rows for a node that has just started', () => {
    const bare = {
      ...derivationAnswer(),
      ...{ state: 'starting', ok: true, text: 'The node is looking for the heads to start from.' },
      l1: { head: null, headSeenAtMs: null, derivedTo: null, confirmations: 0, endpoint: null },
      l2: { safe: null, safeMovedAtMs: null, unsafe: null, windowEndsAtL1Block: null },
      engine: { isSyncing: false, endpoint: null },
      ...{
        blobs: null,
        channels: [],
        lastBatch: null,
        droppedBatches: [],
        lostData: [],
        emptyBatches: null,
        failure: null,
      },
      reset: { reason: 'the node starts', atMs: DERIVATION_ANSWER_MS, doneAtMs: null },
    }
    const text = formatDerivation(bare, DERIVATION_ANSWER_MS)
    expect(text).toContain('safe head    unknown')
    expect(text).toContain('last reset   0 s ago, in progress: the node starts')
    expect(text).not.toContain('dropped batch')
  })

  it('shows the active fork, and whether the node is ready for the next one', () => {
    const at = DERIVATION_ANSWER_MS / 1_000 + 3 * 86_400
    const shown = (next: object | null) =>
      formatDerivation({ ...derivationAnswer(), forks: { active: 'karst', next } }, DERIVATION_ANSWER_MS)
    expect(shown(null)).toMatch(/\nfork +karst\n(?!next fork)/)
    const lagoon = { name: 'lagoon', time: at, ready: null, problem: null }
    const when = 'next fork     lagoon at 2023-11-17 22:13:20 UTC, in 3 days: '
    expect(shown(lagoon)).toContain(`${when}the readiness of the engine is unknown\n`)
    expect(shown({ ...lagoon, ready: true })).toContain(`${when}ready\n`)
    const problem = 'It needs a file.'
    expect(shown({ ...lagoon, ready: false, problem })).toContain(`${when}not ready\n              ${problem}\n`)
  })

  it('shows the command that resolves the wait', () => {
    const text = formatDerivation({ ...derivationAnswer(), command: 'devium batcher start' }, DERIVATION_ANSWER_MS)
    expect(text).toMatch(/\n {2}→ devium batcher start\n\n/)
  })

  it('removes line breaks and control sequences from remote texts', () => {
    const text = formatDerivation({ ...derivationAnswer(), text: 'a\u001b[2Jb\nc' }, DERIVATION_ANSWER_MS)
    expect(text).toContain('a?[2Jb?c')
  })
})
