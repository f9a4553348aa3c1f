//! Recognizes file names with a content hash, by the conventions of builders. Browsers keep such a file for a year, so a name that a
//! person could choose never counts: `jquery-3.7.1.min.js`, `Inter-SemiBold.woff2`, `photo-1024x768.png`.

/// Folders in which a framework itself keeps files that never change.
const FRAMEWORKS: [&[&str]; 4] = [&["_next", "static"], &["_app", "immutable"], &["_astro"], &["_nuxt"]];

/// Folders into which bundlers put images, fonts and the like (Vite, Create React App, Rsbuild, Vue CLI, Angular, Docusaurus).
const MEDIA_FOLDERS: [&[&str]; 11] = [
    &["assets"],
    &["assets", "images"],
    &["assets", "fonts"],
    &["static", "media"],
    &["static", "image"],
    &["static", "font"],
    &["static", "svg"],
    &["img"],
    &["fonts"],
    &["media"],
    &["static"],
];

const CODE: [&str; 3] = ["js", "mjs", "css"];
const MEDIA: [&str; 14] =
    ["woff2", "woff", "ttf", "otf", "eot", "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "wasm", "mp4"];
/// Endings that bundlers put behind the hash.
const SUFFIXES: [&str; 3] = [".chunk", ".lean", ".bundle"];

/// True if a file's name changes with its content. The path is decoded.
pub(crate) fn is_immutable(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let Some(name) = folders.pop() else { return false };
    let holds = |framework: &&[&str]| folders.windows(framework.len()).any(|window| window == *framework);
    if FRAMEWORKS.iter().any(holds) {
        // Nuxt asks for builds/latest.json to learn of a newer build.
        return name != "latest.json";
    }
    let source = name.strip_suffix(".map").unwrap_or(name);
    let Some((stem, ending)) = source.rsplit_once('.') else { return false };
    let stem = SUFFIXES.iter().find_map(|suffix| stem.strip_suffix(suffix)).unwrap_or(stem);
    if CODE.contains(&ending) {
        let in_assets = folders.contains(&"assets") || folders.contains(&"_expo");
        return is_hex(stem, 2) || (in_assets && is_base64(stem)) || (folders.is_empty() && is_base32(stem));
    }
    let in_media = MEDIA_FOLDERS.iter().any(|folder| folders.ends_with(folder));
    MEDIA.contains(&ending)
        && in_media
        && (is_hex(stem, 3)
            || (folders.last() == Some(&"assets") && is_base64(stem) && !ends_in_word(stem))
            || (folders.last() == Some(&"media") && is_base32(stem)))
}

/// Hash in lower-case hexadecimal (webpack, Parcel, Ember, Gatsby): `app.3f2a9c01`. A digest is long or mixes letters and digits, which a
/// word, a date or a version does not.
fn is_hex(stem: &str, changes_min: usize) -> bool {
    let Some((name, hash)) = stem.rsplit_once(['.', '-']) else { return false };
    let is_long = hash.len() >= 16;
    !name.is_empty()
        && matches!(hash.len(), 8 | 16 | 20 | 32 | 40 | 64)
        && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && changes(hash) >= if is_long { 4 } else { changes_min }
}

/// Hash of eight characters of base64url (Vite, VitePress): `index-BfX3kZ9a`. One without digits, or with a digit at its end alone, could be
/// a word like `SemiBold` or `Summer24`.
fn is_base64(stem: &str) -> bool {
    let Some((name, hash)) = split_hash(stem) else { return false };
    let has = |of: fn(&u8) -> bool| hash.bytes().any(|byte| of(&byte));
    !name.is_empty()
        && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && changes(hash) >= 3
}

/// True if the last eight characters may be words, like `Web3Logo`: people name images and fonts so.
fn ends_in_word(stem: &str) -> bool {
    let end = &stem.as_bytes()[stem.len().saturating_sub(8)..];
    end.windows(3).any(|letters| letters.iter().all(u8::is_ascii_lowercase))
}

/// Hash of eight characters of base32 (Angular): `main-B4XKQ2ZT`.
fn is_base32(stem: &str) -> bool {
    let Some((name, hash)) = split_hash(stem) else { return false };
    !name.is_empty() && hash.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) && changes(hash) >= 2
}

/// Splits the last eight characters off, which a `-` or `.` must precede.
fn split_hash(stem: &str) -> Option<(&str, &str)> {
    let (front, hash) = stem.split_at_checked(stem.len().checked_sub(8)?)?;
    front.strip_suffix(['-', '.']).map(|name| (name, hash))
}

/// Number of places where a digit, a small letter, a capital or another character follows one of another kind.
fn changes(text: &str) -> usize {
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    text.as_bytes().windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count()
}

#[cfg(test)]
mod tests {
    use super::is_immutable;

    #[test]
    fn files_that_builders_name_by_their_content_are_known() {
        for path in [
            "/assets/index-BfX3kZ9a.js",
            "/assets/index-D9_kx-Q2.css",
            "/base/assets/logo-Dk3mQ0zA.svg",
            "/assets/inter-roman-latin.Di8DUHzh.woff2",
            "/assets/index.md.BkF3aYq1.lean.js",
            "/assets/chunks/framework.C3kQx8Za.js",
            "/static/js/main.3f2a9c01.js",
            "/static/js/453.20b1c2a9.chunk.js",
            "/static/js/main.3f2a9c01.js.map",
            "/static/css/main.e6c13ad2.css",
            "/static/media/logo.6ce24c58023cc2f8fd88fe9d219db6c6.svg",
            "/js/chunk-vendors.0a1b2c3d.js",
            "/css/app.fb0c6e1c.css",
            "/img/logo.82b9c7a5.png",
            "/_next/static/chunks/main-app.js",
            "/docs/_next/static/abc/_buildManifest.js",
            "/_astro/index.Dq3yQ1xJ.css",
            "/_app/immutable/entry/start.B2k.js",
            "/_nuxt/entry.js",
            "/_nuxt/builds/meta/5a.json",
            "/app-0b4c7fa4e8d1c3a2b5f6.js",
            "/component---src-pages-index-js-0c6e9a11b2d3e4f5a6b7.js",
            "/main-B4XKQ2ZT.js",
            "/chunk-5XW3J2QA.js",
            "/main.1a2b3c4d5e6f7a8b.js",
            "/media/roboto-B4XK2QZ3.woff2",
            "/index.e31bb0bc.js",
            "/assets/js/935f2afb.4bd0a0a7.js",
            "/assets/images/plan-6ce24c58023cc2f8fd88fe9d219db6c6.png",
            "/assets/vendor-1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60.css",
            "/_expo/static/js/web/entry-6ce24c58023cc2f8fd88fe9d219db6c6.js",
        ] {
            assert!(is_immutable(path), "{path}");
        }
    }

    #[test]
    fn names_that_a_person_may_choose_are_not() {
        for path in [
            "",
            "/",
            "/index.html",
            "/assets/index-BfX3kZ9a.html",
            "/assets/data-BfX3kZ9a.json",
            "/assets/jquery-3.7.1.min.js",
            "/assets/bootstrap-datepicker.js",
            "/assets/jquery-validate.js",
            "/assets/theme-Readable.css",
            "/assets/Inter-SemiBold.woff2",
            "/assets/photo-1024x768.png",
            "/assets/photo-1024X768.png",
            "/assets/photo-Summer24.jpg",
            "/assets/icon-Web3Logo.svg",
            "/assets/Inter-V3Italic.woff2",
            "/assets/trip-IMG_1234.jpg",
            "/media/trip-DSCN2345.jpg",
            "/assets/report-20241231.png",
            "/img/report-dec12024.png",
            "/img/report-2024dec1.png",
            "/js/app.deadbeef.js",
            "/js/app.20241231.js",
            "/js/app.js",
            "/js/3f2a9c01.js",
            "/assets/-BfX3kZ9a.js",
            "/assets/BfX3kZ9a.js",
            "/js/index-BfX3kZ9a.js",
            "/pages/main-B4XKQ2ZT.js",
            "/main-REDESIGN.js",
            "/styles-OVERRIDE.css",
            "/service-worker.js",
            "/sw.js",
            "/files/paper-6ce24c58023cc2f8fd88fe9d219db6c6.pdf",
            "/users/avatar-6ce24c58023cc2f8fd88fe9d219db6c6.png",
            "/_nuxt/builds/latest.json",
            "/page-data/app-data.json",
            "/assets/naïve-ÄÖÜäöüß1.js",
        ] {
            assert!(!is_immutable(path), "{path}");
        }
    }
}
