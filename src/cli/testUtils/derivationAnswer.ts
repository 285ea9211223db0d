const NOW = 1_700_000_000_000
const ref = (number: number) => ({
  number,
  hash: `0x${'ab'.repeat(32)}`,
  parentHash: `0x${'cd'.repeat(32)}`,
  timestamp: 1,
})
const l2Ref = (number: number) => ({
  ...ref(number),
  l1origin: { number: 1, hash: `0x${'ef'.repeat(32)}` },
  sequenceNumber: 0,
})

/** devium_derivationStatus of a node with a value in every field. */
export function derivationAnswer() {
  return {
    state: 'batches-dropped',
    ok: false,
    text: 'The safe head does not move because the last span batch was dropped: parent hash is not the hash of the safe head.',
    l1: {
      head: ref(500),
      headSeenAtMs: NOW,
      derivedTo: ref(496),
      confirmations: 4,
      endpoint: { url: 'http://l1:8545', failures: 0, answeredAtMs: NOW, silentSinceMs: null },
    },
    l2: { safe: l2Ref(1000), safeMovedAtMs: NOW - 180_000, unsafe: l2Ref(1010), windowEndsAtL1Block: 4080 },
    follows: null,
    engine: {
      isSyncing: false,
      endpoint: { url: 'http://engine:8551', failures: 3, answeredAtMs: NOW, silentSinceMs: NOW - 20_000 },
    },
    blobs: {
      l1Block: { number: 497, hash: `0x${'ef'.repeat(32)}` },
      slot: 99,
      versionedHashes: [`0x01${'aa'.repeat(31)}`],
      sinceMs: NOW,
      tries: 2,
      answers: [{ url: 'http://beacon:5052', problem: 'answers 404' }],
    },
    channels: [
      {
        id: `0x${'12'.repeat(16)}`,
        openBlock: 480,
        lastBlock: 530,
        frames: 2,
        bytes: 240_000,
        expectedFrames: 3,
        l1BlocksLeft: 34,
      },
    ],
    lastBatch: { type: 'span', l1Block: 490, atMs: NOW - 180_000 },
    droppedBatches: [
      { type: 'singular', l1Block: 480, atMs: NOW - 600_000, reason: 'an older one', losesChannel: false },
      {
        type: 'span',
        l1Block: 495,
        atMs: NOW - 60_000,
        reason: 'parent hash is not the hash of the safe head',
        losesChannel: true,
      },
    ],
    lostData: [
      { what: 'frame', l1Block: 470, atMs: NOW - 700_000, reason: 'no such channel is open', channel: '0xab' },
    ],
    emptyBatches: { count: 7, l1Block: 499, lastAtMs: NOW - 5_000 },
    failure: {
      code: 'engine-call',
      message: 'forkchoice update failed',
      severity: 'temporary',
      sinceMs: NOW - 20_000,
      atMs: NOW,
      count: 3,
    },
    reset: { reason: 'detected L1 reorg', atMs: NOW - 3_600_000, doneAtMs: NOW - 3_599_000 },
  }
}

export const DERIVATION_ANSWER_MS = NOW
