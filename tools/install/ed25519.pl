# Verifies an Ed25519 signature (RFC 8032) with perl-base alone; arguments in hex: key, signature, SHA-512 of R, key and message.
# The arithmetic is TweetNaCl's. Exits with 0 only if the signature is right.
use strict;
use warnings;
use integer;

sub gf { [map { hex } reverse($_[0] =~ /..../g)] }
my $D = gf('52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3');
my $D2 = gf('2406d9dc56dffce7198e80f2eef3d13000e0149a8283b156ebd69b9426b2f159');
my $I = gf('2b8324804fc1df0b2b4d00993dfbd7a72f431806ad2fe478c4ee1b274a0ea0b0');
my $X = gf('216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a');
my $Y = gf('6666666666666666666666666666666666666666666666666666666666666658');
my ($ZERO, $ONE) = map { gf('0' x 63 . $_) } 0, 1;
my @L = ((0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14), (0) x 15, 0x10);

sub add { my ($a, $b) = @_; [map { $a->[$_] + $b->[$_] } 0 .. 15] }
sub sub_ { my ($a, $b) = @_; [map { $a->[$_] - $b->[$_] } 0 .. 15] }

sub carry {
  my ($o) = @_;
  for my $i (0 .. 15) {
    $o->[$i] += 1 << 16;
    my $c = $o->[$i] >> 16;
    if ($i < 15) { $o->[$i + 1] += $c - 1 } else { $o->[0] += 38 * ($c - 1) }
    $o->[$i] -= $c << 16;
  }
}

sub mul {
  my ($a, $b) = @_;
  my @t = (0) x 31;
  for my $i (0 .. 15) {
    my $x = $a->[$i];
    $t[$i + $_] += $x * $b->[$_] for 0 .. 15;
  }
  $t[$_] += 38 * $t[$_ + 16] for 0 .. 14;
  my $o = [@t[0 .. 15]];
  carry($o);
  carry($o);
  $o;
}

# Returns the 32 bytes of the reduced number.
sub bytes {
  my $t = [@{$_[0]}];
  carry($t) for 1 .. 3;
  for (1, 2) {
    my @m = ($t->[0] - 0xffed);
    for my $i (1 .. 15) {
      $m[$i] = $t->[$i] - ($i < 15 ? 0xffff : 0x7fff) - (($m[$i - 1] >> 16) & 1);
      $m[$i - 1] &= 0xffff;
    }
    my $negative = ($m[15] >> 16) & 1;
    $m[15] &= 0xffff;
    $t = [@m] unless $negative;
  }
  map { ($_ & 0xff, $_ >> 8) } @$t;
}

sub same { join(',', bytes($_[0])) eq join(',', bytes($_[1])) }

# Raises to a power of the form 2^252 - 3 or 2^255 - 21, by the positions of its zero bits.
sub power {
  my ($a, $top, %zero) = @_;
  my $o = $a;
  for my $i (reverse 0 .. $top) {
    $o = mul($o, $o);
    $o = mul($o, $a) unless $zero{$i};
  }
  $o;
}

sub add_points {
  my ($p, $q) = @_;
  my $a = mul(sub_($p->[1], $p->[0]), sub_($q->[1], $q->[0]));
  my $b = mul(add($p->[0], $p->[1]), add($q->[0], $q->[1]));
  my $c = mul(mul($p->[3], $q->[3]), $D2);
  my $d = mul($p->[2], $q->[2]);
  $d = add($d, $d);
  my ($e, $f, $g, $h) = (sub_($b, $a), sub_($d, $c), add($d, $c), add($b, $a));
  [mul($e, $f), mul($h, $g), mul($g, $f), mul($e, $h)];
}

# Returns [a]P + [b]Q; the doublings are shared.
sub multiply_both {
  my ($p, $a, $q, $b) = @_;
  my @sums = (undef, $p, $q, add_points($p, $q));
  my $o = [$ZERO, $ONE, $ONE, $ZERO];
  for my $i (reverse 0 .. 255) {
    $o = add_points($o, $o);
    my $bits = (($a->[$i >> 3] >> ($i & 7)) & 1) + 2 * (($b->[$i >> 3] >> ($i & 7)) & 1);
    $o = add_points($o, $sums[$bits]) if $bits;
  }
  $o;
}

# Returns the negated point of a public key, or nothing.
sub unpack_negative {
  my @k = @_;
  my $sign = $k[31] >> 7;
  $k[31] &= 127;
  my $y = [map { $k[2 * $_] | $k[2 * $_ + 1] << 8 } 0 .. 15];
  return unless join(',', bytes($y)) eq join(',', @k);
  my $square = mul($y, $y);
  my ($num, $den) = (sub_($square, $ONE), add($ONE, mul($square, $D)));
  my $den2 = mul($den, $den);
  my $den6 = mul(mul($den2, $den2), $den2);
  my $x = power(mul(mul($den6, $num), $den), 250, 1 => 1);
  $x = mul(mul(mul(mul($x, $num), $den), $den), $den);
  $x = mul($x, $I) unless same(mul(mul($x, $x), $den), $num);
  return unless same(mul(mul($x, $x), $den), $num);
  $x = sub_($ZERO, $x) if ((bytes($x))[0] & 1) == $sign;
  [$x, $y, $ONE, mul($x, $y)];
}

# Reduces 64 bytes modulo the order of the group.
sub reduce {
  my @x = @_;
  for my $i (reverse 32 .. 63) {
    my $carry = 0;
    for my $j ($i - 32 .. $i - 13) {
      $x[$j] += $carry - 16 * $x[$i] * $L[$j - ($i - 32)];
      $carry = ($x[$j] + 128) >> 8;
      $x[$j] -= $carry << 8;
    }
    $x[$i - 12] += $carry;
    $x[$i] = 0;
  }
  my $carry = 0;
  for my $j (0 .. 31) {
    $x[$j] += $carry - ($x[31] >> 4) * $L[$j];
    $carry = $x[$j] >> 8;
    $x[$j] &= 255;
  }
  $x[$_] -= $carry * $L[$_] for 0 .. 31;
  for my $i (0 .. 31) {
    $x[$i + 1] += $x[$i] >> 8;
    $x[$i] &= 255;
  }
  @x[0 .. 31];
}

my ($key, $signature, $hash) = map { [map { hex } /../g] } @ARGV;
my @s = @{$signature}[32 .. 63];
# The scalar must be reduced (RFC 8032, 5.1.7).
exit 1 unless join(',', reduce(@s, (0) x 32)) eq join(',', @s);
my $point = unpack_negative(@$key) or exit 1;
my $base = [$X, $Y, $ONE, mul($X, $Y)];
my $sum = multiply_both($point, [reduce(@$hash)], $base, \@s);
my $inverse = power($sum->[2], 253, 2 => 1, 4 => 1);
my @packed = bytes(mul($sum->[1], $inverse));
$packed[31] ^= ((bytes(mul($sum->[0], $inverse)))[0] & 1) << 7;
exit(join(',', @packed) eq join(',', @{$signature}[0 .. 31]) ? 0 : 1);
