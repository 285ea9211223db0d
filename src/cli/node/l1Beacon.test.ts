import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { rollupConfigOf } from '../../rollup/networks/index.ts'
import { beaconOptionsFromFlags } from './l1Beacon.ts'

const config = rollupConfigOf('op-mainnet')
const NONE = {
  l1Beacon: undefined,
  l1BeaconHeader: undefined,
  l1BeaconFallbacks: [],
  l1BeaconArchiver: [],
  l1BeaconIgnore: false,
  l1BeaconSlotDurationOverride: 0,
}

describe('the flags for blobs', () => {
  it('are required since Ecotone, unless --l1.beacon.ignore is set', () => {
    expect(() => beaconOptionsFromFlags(NONE, config)).toThrow(errorWith('usage', '--l1.beacon'))
    expect(beaconOptionsFromFlags({ ...NONE, l1BeaconIgnore: true }, config)).toBeUndefined()
    const { regolith } = config.forks
    const early = { ...config, forks: regolith === undefined ? {} : { regolith } }
    expect(beaconOptionsFromFlags(NONE, early)).toBeUndefined()
  })

  it('set endpoints, under both names, and a header', () => {
    const values = {
      ...NONE,
      l1Beacon: 'http://a/path',
      l1BeaconHeader: 'X-Key: se:cret',
      l1BeaconFallbacks: ['http://b'],
      l1BeaconArchiver: ['http://c', 'http://b'],
      l1BeaconIgnore: true,
      l1BeaconSlotDurationOverride: 2,
    }
    expect(beaconOptionsFromFlags(values, config)).toEqual({
      url: 'http://a/path',
      headers: { 'X-Key': 'se:cret' },
      fallbackUrls: ['http://b', 'http://c'],
      slotDurationOverrideS: 2,
    })
  })

  it.each([
    [{ l1Beacon: 'ws://secret' }, '--l1.beacon'],
    [{ l1Beacon: 'http://a', l1BeaconFallbacks: ['secret'] }, '--l1.beacon-fallbacks'],
    [{ l1Beacon: 'http://a', l1BeaconHeader: 'secret' }, '--l1.beacon-header'],
    [{ l1Beacon: 'http://a', l1BeaconHeader: 'X: secret\r\nY: b' }, '--l1.beacon-header'],
  ])('are refused when invalid, without repeating their values', (wrong, flag) => {
    const read = () => beaconOptionsFromFlags({ ...NONE, ...wrong }, config)
    expect(read).toThrow(errorWith('usage', flag))
    expect(read).not.toThrow('secret')
  })
})
