// The package's entry falls back to JavaScript silently; its native half has no type declaration of its own.
declare module 'secp256k1/bindings.js' {
  import secp256k1 = require('secp256k1')
  export default secp256k1
}
